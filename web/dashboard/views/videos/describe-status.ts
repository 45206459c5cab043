import type { VideoStatus } from '../../api/types.ts'
import { encodedFraction, isArriving, receivedFraction } from '../../api/video-status.ts'
import { messages } from '../../messages/messages.ts'
import { formatPercent } from '../../ui/format.ts'

/** What happens to the file of a video. While it arrives, what is there may be encoded already. */
export function describeStatus(status: VideoStatus): string {
  const { encoding, ingest } = status
  const { videos } = messages
  const encoded = formatPercent(encodedFraction(status))
  const isEncoding = encoding.qualities.length > 0
  if (!isArriving(status)) {
    if (!isEncoding) return videos.examining
    return encoding.playable ? videos.playable(encoded) : videos.encoding(encoded)
  }
  const received = receivedFraction(status)
  if (received === 0) return isEncoding ? videos.encoding(encoded) : videos.arriving
  const percent = formatPercent(received)
  const kind = ingest?.status === 'uploading' ? 'upload' : 'import'
  return isEncoding ? videos.arrivingAndEncoding[kind](percent, encoded) : videos.arrivingPart[kind](percent)
}

/** How far that is, from 0 to 1. */
export const progressOf = (status: VideoStatus): number =>
  isArriving(status) ? receivedFraction(status) : encodedFraction(status)
