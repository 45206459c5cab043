/** The images are at `watermarks/{id}/image.png` in the file store. A video has its own copy of the image. */
export const watermarksFolder = 'watermarks'

/** Starts the id of every watermark. */
export const idPrefix = 'watermark_'

export const watermarkFolder = (watermarkId: string) => `${watermarksFolder}/${watermarkId}`

export const imageKey = (watermarkId: string) => `${watermarkFolder(watermarkId)}/image.png`
