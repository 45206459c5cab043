import type { BroadcastEvent, LiveBroadcast } from '../live-broadcast.ts'
import type { WindowSegment } from '../playlist-window.ts'
import type { Rendition } from '../rendition.ts'

/** The events that recreate a broadcast as it is now. */
export function snapshotOf(live: LiveBroadcast): BroadcastEvent[] {
  const events = [...live.renditions].flatMap(([quality, rendition]) => renditionEvents(quality, rendition))
  const { targetSeconds, qualities, isEnded } = live
  if (targetSeconds !== undefined) events.push({ kind: 'visible', targetSeconds, qualities: [...qualities] })
  if (isEnded) events.push({ kind: 'end' })
  return events
}

function renditionEvents(quality: string, rendition: Rendition): BroadcastEvent[] {
  const { segments, open } = rendition.window.state
  return [
    ...rendition.inits.map((init): BroadcastEvent => ({ kind: 'init', quality, ...init })),
    ...segments
      .filter(({ isGap }) => !isGap)
      .flatMap((segment) => segmentEvents(quality, rendition, segment)),
    ...(open ? partEvents(quality, rendition, open) : []),
  ]
}

function segmentEvents(quality: string, rendition: Rendition, segment: WindowSegment): BroadcastEvent[] {
  const { parts, isGap: _, ...described } = segment
  const { sequence } = segment
  const isStored = rendition.isStored(sequence)
  const isSent = parts.length > 0 || !isStored
  return [
    ...(isSent ? partEvents(quality, rendition, segment) : []),
    { kind: 'segment', quality, ...described },
    ...(isSent && isStored ? [{ kind: 'stored' as const, quality, sequence }] : []),
  ]
}

/** Playlists list the parts of the newest segments only. An older one that is not stored yet is sent as one part. */
function partEvents(quality: string, rendition: Rendition, segment: WindowSegment): BroadcastEvent[] {
  const { sequence, epoch, receivedAt, durationMs, parts } = segment
  const base = { kind: 'part' as const, quality, sequence, epoch, receivedAt }
  if (parts.length === 0) {
    const data = rendition.findSegment(sequence)
    return data ? [{ ...base, durationMs, isIndependent: true, data }] : []
  }
  return parts.flatMap((part, i) => {
    const data = rendition.findPart(sequence, i)
    return data ? [{ ...base, ...part, data }] : []
  })
}
