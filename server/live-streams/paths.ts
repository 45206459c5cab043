import type { MediaKind } from '../access/check.ts'

/** The path of the player page, and the beginning of the paths of all files. */
export const livePath = (liveStreamId: string) => `/live/${liveStreamId}`

/** The same for one viewer of a private live stream. Native players of the published libraries build such paths. */
export const privateLivePath = (liveStreamId: string, token: string) =>
  `/live/private/${token}/${liveStreamId}`

export const liveStreamKind: MediaKind = {
  prefix: 'li',
  parameter: 'liveStreamId',
  path: livePath,
  privatePath: privateLivePath,
  cookiePath: () => '/live',
}
