import type { ApiKey } from '../../api/types.ts'
import type { ListedVideo } from '../../api/videos.ts'

export type FirstSteps = { isUploaded: boolean; isPlayable: boolean; isShared: boolean; hasKey: boolean }

type Known = {
  videos: Pick<ListedVideo, 'status'>[]
  keys: ApiKey[]
  /** Of the last days. Plays in the dashboard do not count. */
  views: number
  hasCopied: boolean
}

/** Which steps are done, in whatever way. */
export const stepsOf = ({ videos, keys, views, hasCopied }: Known): FirstSteps => ({
  isUploaded: videos.some(({ status }) => status.state !== 'missing'),
  isPlayable: videos.some(({ status }) => status.playable),
  isShared: hasCopied || views > 0,
  hasKey: keys.length > 0,
})

export const areDone = (steps: FirstSteps) => Object.values(steps).every(Boolean)

/** Whoever has more videos knows how it works. */
const maxVideos = 3

/** Whether somebody who has not seen the end of the steps gets them. */
export const areOffered = (steps: FirstSteps, videoCount: number) =>
  videoCount <= maxVideos && !areDone(steps)
