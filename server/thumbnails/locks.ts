/** Advisory lock that a job holds from before it stores images until a row refers to the files. */
export const thumbnailsLock = (videoId: string) => `pictures ${videoId}`
