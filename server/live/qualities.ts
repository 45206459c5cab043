/** The quality that is passed through. */
export const sourceQuality = 'source'
