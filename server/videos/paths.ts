/** The path of the player page, and the beginning of the paths of all files of a video. */
export const videoPath = (videoId: string) => `/vod/${videoId}`
