import type { LiveStream } from '../../api/live-streams.ts'
import { ownPath } from '../../api/own-path.ts'
import { usePulse } from '../../ui/use-pulse.ts'
import { useStable } from '../../ui/use-stable.ts'

/** The service makes a frame every ten seconds at most. */
export const renewMs = 12_000

/** The current frame while the stream is on air, otherwise its thumbnail. */
export function LivePicture({ stream }: { stream: LiveStream }) {
  const { assets, broadcasting, liveStreamId } = stream
  const atMs = usePulse(renewMs, broadcasting)
  const thumbnail = ownPath(assets.thumbnail)
  const current = broadcasting ? thumbnail.replace(/thumbnail\.jpg$/, `frame.jpg?at=${atMs}`) : thumbnail
  // The browser shows the last frame until the next one is loaded.
  const src = useStable(
    current,
    `${liveStreamId} ${stream.public} ${broadcasting} ${broadcasting ? atMs : ''}`,
  )
  return <img src={src} alt="" loading="lazy" />
}
