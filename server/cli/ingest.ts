import { readValues } from '../lib/settings.ts'
import { liveSettings } from '../live/settings.ts'
import { UsageError } from './errors.ts'

/** Where encoders send their streams to: the host of the service and its RTMP port. */
export function findIngestUrl(serviceUrl: string): string {
  const { rtmpPort } = liveSettings
  const { port } = readValues({ port: rtmpPort }, process.env)
  if (port === 0) throw new UsageError('Set KINORA_RTMP_PORT to the port that the service uses.')
  return `rtmp://${new URL(serviceUrl).hostname}:${port}/s`
}
