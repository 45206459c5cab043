import { defineErrors } from '../lib/errors.ts'

export const webhooksErrors = defineErrors({
  limitReached: [
    'webhook-limit-reached',
    400,
    'The maximum number of webhooks has been reached.',
    'Delete a webhook that is no longer needed. The setting `KINORA_WEBHOOK_LIMIT` is the limit of an environment.',
  ],
})
