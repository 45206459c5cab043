import { ApiError, defineErrors } from '../lib/errors.ts'

export const summariesErrors = defineErrors({
  alreadyExists: [
    'summary-already-exists',
    409,
    'The video already has a summary.',
    'A video has at most one summary. Change its text, or delete it before you create another one. A generated summary that failed can be requested again.',
  ],
  inProgress: [
    'summary-in-progress',
    409,
    'The summary is being generated.',
    'The text of a summary can be changed when `sourceStatus` is no longer `waiting`.',
  ],
})

export const alreadyExists = () =>
  new ApiError(summariesErrors.alreadyExists, {
    name: 'videoId',
    detail: 'Change the text of the existing summary. Delete it to generate another one.',
  })

export const inProgress = () =>
  new ApiError(summariesErrors.inProgress, {
    name: 'summaryId',
    detail: 'The text can be changed when the summary has been generated.',
  })
