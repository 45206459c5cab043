import type { SourceFailure } from '../metrics.ts'

/** The source cannot be fetched. The message is shown to the owner of the video. */
export class SourceFetchError extends Error {
  readonly failure: SourceFailure

  constructor(failure: SourceFailure, message: string) {
    super(message)
    this.failure = failure
  }
}
