import type { Media } from '../media.ts'
import type { Notices } from './notices.ts'

/** A seek beyond the playable part ends this long before its end, so that there is something to see. */
const limitSeconds = 1

/** Moves within the part of the video that can be played already. */
export function seekTo({ video, stream }: Media, seconds: number, notices: Notices): void {
  if (!Number.isFinite(seconds)) return
  notices.setWanted(seconds)
  const playable = stream.playableSeconds() ?? Number.POSITIVE_INFINITY
  const target = seconds > playable ? Math.max(video.currentTime, playable - limitSeconds) : seconds
  // Beyond the end of the video, the browser seeks to its end.
  video.currentTime = Math.max(0, target)
}
