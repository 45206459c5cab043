/** The source cannot be fetched. The message is shown to the owner of the video. */
export class SourceFetchError extends Error {}
