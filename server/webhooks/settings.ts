import { integer, type ReadValues, setting } from '../lib/settings.ts'

export const webhooksSettings = {
  webhookLimit: setting({
    name: 'KINORA_WEBHOOK_LIMIT',
    default: '100',
    meaning: 'Maximum number of webhooks of an environment.',
    read: integer(1, 10_000),
  }),
}

declare module '../config.ts' {
  interface Config extends ReadValues<typeof webhooksSettings> {}
}
