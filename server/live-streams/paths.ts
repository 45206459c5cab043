import type { Medium } from '../access/check.ts'

/** The path of the player page, and the beginning of the paths of all files. */
export const livePath = (liveStreamId: string) => `/live/${liveStreamId}`

/** The same for one viewer of a private live stream. Native players of the published libraries build such paths. */
export const privateLivePath = (liveStreamId: string, token: string) =>
  `/live/private/${token}/${liveStreamId}`

/** A live stream whose access is checked. */
export function liveMedium({
  id,
  environment,
  public: isPublic,
}: Pick<Medium, 'id' | 'environment' | 'public'>): Medium {
  return {
    ...{ id, environment, public: isPublic, path: livePath(id) },
    privatePath: (token) => privateLivePath(id, token),
    cookiePath: '/live',
  }
}
