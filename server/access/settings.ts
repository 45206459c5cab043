import { integer, type ReadValues, setting } from '../lib/settings.ts'

export const accessSettings = {
  privateSessionSeconds: setting({
    name: 'KINORA_PRIVATE_SESSION_SECONDS',
    default: '86400',
    meaning:
      'Seconds for which the URL of a private video, and the playback session it opens, can start playback.',
    read: integer(1, 31_536_000),
  }),
}

declare module '../config.ts' {
  interface Config extends ReadValues<typeof accessSettings> {}
}
