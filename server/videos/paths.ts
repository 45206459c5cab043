import type { Medium } from '../access/check.ts'

/** The path of the player page, and the beginning of the paths of all files of a video. */
export const videoPath = (videoId: string) => `/vod/${videoId}`

/** A video whose access is checked. */
export function videoMedium({
  id,
  environment,
  public: isPublic,
}: Pick<Medium, 'id' | 'environment' | 'public'>): Medium {
  const path = videoPath(id)
  return {
    ...{ id, environment, public: isPublic, path },
    privatePath: (token) => `${path}/token/${token}`,
    cookiePath: path,
  }
}
