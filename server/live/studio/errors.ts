import { defineErrors } from '../../lib/errors.ts'

export const studioErrors = defineErrors({
  invalidToken: [
    'invalid-studio-token',
    401,
    'The studio token is unknown, expired or used.',
    'A studio token opens its page once. Create another one with POST /live-streams/{liveStreamId}/studio-tokens.',
  ],
})
