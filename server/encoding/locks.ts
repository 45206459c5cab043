/** Advisory lock that a job holds from before it stores an MP4 until a row refers to the file. */
export const finishLock = (videoId: string) => `finish ${videoId}`
