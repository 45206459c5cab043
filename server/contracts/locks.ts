/** Names of advisory locks that jobs hold from before they store a file until a row refers to it. */
export const finishLock = (videoId: string) => `finish ${videoId}`
export const picturesLock = (videoId: string) => `pictures ${videoId}`
