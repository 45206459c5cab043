import { defineErrors } from '../lib/errors.ts'

export const importsErrors = defineErrors({
  ended: [
    'import-ended',
    409,
    'The import has ended.',
    'An import that was completed, canceled or has failed cannot be changed. Its key was deleted. Start another one: it imports only what is new, changed or has failed.',
  ],
})
