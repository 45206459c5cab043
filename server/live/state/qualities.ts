/** The quality that is passed through. It is recorded, and viewers watch it if its key frames allow for it. */
export const sourceQuality = 'source'

/** The encoded quality of the same size, if viewers cannot watch the source. */
export const topQuality = 'top'
