import { integer, optional, type ReadValues, setting } from '../lib/settings.ts'

export const uploadsSettings = {
  /** Undefined: forever. */
  sourceDays: setting({
    name: 'KINORA_SOURCE_DAYS',
    default: '',
    meaning:
      'The source of a video is deleted this many days after everything is encoded. 0 deletes it at once. If not set: it is kept. See docs/videos.md.',
    read: optional(integer(0, 36_500)),
  }),
}

declare module '../config.ts' {
  interface Config extends ReadValues<typeof uploadsSettings> {}
}
