import { group, integer, onOff, type ReadValues, setting } from '../lib/settings.ts'

export const videosSettings = {
  /** 0: deletion is final. */
  restoreDays: setting({
    name: 'KINORA_RESTORE_DAYS',
    default: '7',
    meaning:
      'A deleted video can be restored for this many days, and takes space until then. 0 makes deletion final. Videos that are already deleted keep their time. See docs/videos.md.',
    read: integer(0, 3_650),
  }),
  sandbox: group({
    /** 0: no limit. */
    seconds: setting({
      name: 'KINORA_SANDBOX_SECONDS',
      default: '30',
      meaning: 'Sandbox videos are cut after this many seconds. 0 turns this off.',
      read: integer(0, 1e9),
    }),
    hasWatermark: setting({
      name: 'KINORA_SANDBOX_WATERMARK',
      default: 'on',
      meaning: 'on or off: a watermark on sandbox videos.',
      read: onOff,
    }),
    /** 0: no limit. */
    hours: setting({
      name: 'KINORA_SANDBOX_HOURS',
      default: '24',
      meaning: 'Sandbox videos are deleted after this many hours. 0 turns this off.',
      read: integer(0, 1e6),
    }),
  }),
}

declare module '../config.ts' {
  interface Config extends ReadValues<typeof videosSettings> {}
}
