import type { MediaKind } from '../access/check.ts'

/** The path of the player page, and the beginning of the paths of all files of a video. */
export const videoPath = (videoId: string) => `/vod/${videoId}`

export const videoKind: MediaKind = {
  prefix: 'vi',
  parameter: 'videoId',
  path: videoPath,
  privatePath: (videoId, token) => `${videoPath(videoId)}/token/${token}`,
  cookiePath: videoPath,
}
