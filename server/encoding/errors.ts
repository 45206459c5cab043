import { defineErrors } from '../lib/errors.ts'

export const encodingErrors = defineErrors({
  nothingToRetry: [
    'nothing-to-retry',
    409,
    'Nothing in this video has failed.',
    'The status of the video shows what is still in progress.',
  ],
  sourceMissing: [
    'source-missing',
    409,
    'The source file of this video is missing.',
    'The file store has lost the file. Upload it again.',
  ],
})
