import { isDeepStrictEqual } from 'node:util'
import { countSegments, secondsOf, segmentOf } from '../../media/grid.ts'
import type { EncodingPlan } from '../tables.ts'

/**
 * Frames are decoded in another order than they are shown in, filters look at the next frame, and audio encoders look
 * ahead. With this much after a segment, it is the same as if everything had arrived.
 */
const marginSeconds = 2
const marginFrames = 20
/** Where segments begin at key frames, the choice also depends on what follows within the longest segment. */
const copiedMarginSeconds = 7

/**
 * The segments of a plan whose content has arrived, up to a time of the source. The last segment of the plan is never
 * among them. Undefined if there is none. `hasEnd` means that the plan is that of the complete source.
 */
export function cutPlan(
  plan: EncodingPlan,
  arrivedSeconds: number,
  hasEnd: boolean,
): EncodingPlan | undefined {
  const copied = plan.starts && !hasEnd ? copiedMarginSeconds : 0
  const margin = copied + marginSeconds + secondsOf(plan, marginFrames)
  const frames = ((arrivedSeconds - plan.offsetSeconds - margin) * plan.rate.num) / plan.rate.den
  for (let count = countSegments(plan) - 1; count > 0; count--) {
    const end = segmentOf(plan, count).fromFrame
    if (end > frames) continue
    const cut = { ...plan, frames: end, ...(plan.starts && { starts: plan.starts.slice(0, count) }) }
    // A short segment at the end would be added to the one before it.
    if (countSegments(cut) === count) return cut
  }
  return undefined
}

/** What may change when more of the source arrives: segments that are encoded do not depend on it. */
const changing = [
  'key',
  'frames',
  'starts',
  'rungs',
  'copiedDelay',
  'hasGaps',
  'audioKbps',
  'sourceBytes',
  'offsetSeconds',
  'partial',
] as const satisfies (keyof EncodingPlan)[]

/** Times of different containers are rounded differently. ffmpeg is told microseconds. */
const sameSeconds = 2e-6

/** Whether the segments of a partial plan are also the first segments of a plan for more of the same source. */
export function continues(partial: EncodingPlan, plan: EncodingPlan): boolean {
  const count = countSegments(partial)
  const isSame = isDeepStrictEqual(fixedParts(partial), fixedParts(plan))
  if (!isSame || Math.abs(partial.offsetSeconds - plan.offsetSeconds) > sameSeconds) return false
  if (countSegments(plan) < count || (!plan.partial && countSegments(plan) === count)) return false
  for (let index = 0; index < count; index++)
    if (!isDeepStrictEqual(segmentOf(partial, index), segmentOf(plan, index))) return false
  return true
}

function fixedParts(plan: EncodingPlan) {
  const { copiesVideo, rungs } = plan
  const top = rungs.length - 1
  return {
    ...Object.fromEntries(Object.entries(plan).filter(([name]) => !changing.some((each) => each === name))),
    // The bitrate of a copied quality is measured.
    rungs: rungs.map((rung, i) => (copiesVideo && i === top ? { ...rung, maxKbps: 0 } : rung)),
    isRegular: plan.starts === undefined,
  }
}
