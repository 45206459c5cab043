import { defineErrors } from '../lib/errors.ts'

export const playersErrors = defineErrors({
  formatNotImplemented: [
    'format-not-implemented',
    501,
    'The format is not supported.',
    'oEmbed responses are JSON only. Omit `format`, or send `json`.',
  ],
})
