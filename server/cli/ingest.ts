import { integer, readValues, setting } from '../lib/settings.ts'

const settings = {
  port: setting({
    name: 'KINORA_RTMP_PORT',
    default: '1935',
    meaning: 'Port of the RTMP server.',
    read: integer(1, 65535),
  }),
}

/** Where encoders send their streams to: the host of the service and its RTMP port. */
export function findIngestUrl(serviceUrl: string): string {
  const { port } = readValues(settings, process.env)
  return `rtmp://${new URL(serviceUrl).hostname}:${port}/s`
}
