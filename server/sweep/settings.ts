import { choice, duration, group, type ReadValues, setting } from '../lib/settings.ts'

export const sweepSettings = {
  sweep: group({
    mode: setting({
      name: 'KINORA_SWEEP',
      default: 'remove',
      meaning:
        'remove, report or off: what the sweep does with files that no video refers to. See docs/operations.md.',
      read: choice('remove', 'report', 'off'),
    }),
    graceMs: setting({
      name: 'KINORA_SWEEP_GRACE_MINUTES',
      default: '60',
      meaning: 'The sweep ignores files that were written within this many minutes.',
      read: duration(0, 525_600, 60_000),
    }),
  }),
}

declare module '../config.ts' {
  interface Config extends ReadValues<typeof sweepSettings> {}
}
