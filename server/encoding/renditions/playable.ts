import { countSegments } from '../../media/grid.ts'
import type { EncodingPlan, EncodingState, RenditionState } from '../tables.ts'

/** The rendition of the audio stream, next to the qualities. */
export const audioRendition = 'sound'

/** Selected by `playableColumns` in the store. */
export type PlayableRow = {
  /** The content could not be fetched. */
  isSourceFailed: boolean
  /** Viewers may not see the video before its source is complete. */
  isHidden: boolean
  /** Null before the encoding is planned. */
  state: EncodingState | null
  plan: EncodingPlan | null
  audioFailure: string | null
  /** The state of each HLS quality. */
  qualities: Record<string, RenditionState>
  /** Renditions whose first segment is stored. */
  begun: string[]
  /** Number of audio segments that are stored. */
  audioSegments: number
}

/** `ready` means that the master playlist is served. It lists the rungs of this plan, which has no failed ones. */
export type Playable =
  | { state: 'ready'; plan: EncodingPlan; hasAudio: boolean }
  | { state: 'processing' }
  | { state: 'failed' }

/**
 * Whether a video is playable: status, manifest and player all decide by this. A video is playable from the first
 * segment of any quality on, together with the audio. With a complete quality it stays playable, whatever is encoded
 * again.
 */
export function checkPlayable(row: PlayableRow): Playable {
  const { plan, begun } = row
  if (row.state === 'failed') return { state: 'failed' }
  // With a plan, a lost source could not be fetched again. What was encoded before stays playable.
  const notReady = { state: row.isSourceFailed ? 'failed' : 'processing' } as const
  if (!plan || row.isHidden) return notReady
  const rungs = plan.rungs.filter(({ quality }) => row.qualities[quality] !== 'failed')
  if (rungs.length === 0) return { state: 'failed' }
  const hasAudio = plan.hasSound && row.audioFailure === null
  if (rungs.some(({ quality }) => row.qualities[quality] === 'encoded')) {
    // A quality completes only after the audio, so incomplete audio is a retry. Until it succeeds, the video plays
    // without audio, as before the retry.
    const isAudioComplete = row.audioSegments >= countSegments(plan)
    return { state: 'ready', plan: { ...plan, rungs }, hasAudio: hasAudio && isAudioComplete }
  }
  return canStart(begun, { plan: { rungs }, hasAudio })
    ? { state: 'ready', plan: { ...plan, rungs }, hasAudio }
    : notReady
}

/** Whether a video can be played from the renditions whose first segment is stored. */
export const canStart = (
  begun: string[],
  { plan: { rungs }, hasAudio }: { plan: Pick<EncodingPlan, 'rungs'>; hasAudio: boolean },
): boolean =>
  rungs.some(({ quality }) => begun.includes(quality)) && (!hasAudio || begun.includes(audioRendition))
