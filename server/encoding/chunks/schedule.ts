import { countSegments, framesIn, secondsOf, segmentOf } from '../../media/grid.ts'
import { audioRendition } from '../renditions/playable.ts'
import type { ChunkRow, EncodingPlan } from '../tables.ts'

// Decides what a worker encodes next of a video, so that somebody who starts to watch at once never has to wait. The
// lowest quality runs ahead of the others only as far as that requires, because each separate run decodes the source
// once more. If all qualities together are slower than the viewer, those run ahead that are not.

export type NewChunk = Pick<ChunkRow, 'track' | 'qualities' | 'first_segment' | 'segments' | 'priority'>

/** A chunk that no worker has a lease on. */
export type WaitingChunk = Pick<ChunkRow, 'track' | 'qualities' | 'first_segment' | 'segments'> & {
  id: number
  failures: number
  losses: number
}

export type Situation = {
  plan: EncodingPlan
  /** The size of the source in pixels. */
  sourcePixels: number
  /** All chunks of the video that wait. Never empty. */
  waiting: WaitingChunk[]
  /** Since the encoding began. A viewer who started at once is at most at this position. */
  elapsedSeconds: number
  /** Whether a worker encodes the first segment of the lowest quality. */
  isStarting: boolean
  /** The time that a slot takes for a unit of work. */
  secondsPerWork: number
  /** Of all processes, because they share the video. */
  slots: number
}

/** Segments of one or several waiting chunks, to be encoded by one ffmpeg. */
export type Choice = {
  from: WaitingChunk[]
  firstSegment: number
  segments: number
  decoding: Decoding
}

/**
 * `fast` leaves out the loop filter of frames that no other frame refers to, which nobody sees in the lowest quality
 * (SSIM 0.0001, bytes 0.3 %). `rough` leaves it out everywhere, which costs a tenth of the bytes.
 */
export type Decoding = 'full' | 'fast' | 'rough'

/** Limits the work that is lost with a worker. */
const maxSegments = 5
/** Each chunk costs a start and decoding from the key frame before it, so it has a minimum length. */
const minSeconds = 8
/** The least and the most segments of the lowest quality alone. */
const leadSegments = [1, 5] as const
const startSegments = [5, 10] as const
/** At least this many chunks are left for each slot, so that the slots finish together. */
const chunksPerSlot = 2
/** Audio is encoded fast. Five minutes, since each start costs as much as seconds. */
const maxAudioSegments = 75
/** Copying takes hardly any time. Twenty minutes take about a second. */
const maxCopiedSegments = 300
/** A chunk may take so much longer than expected without a stall. */
const safetyFactor = 1.3
const safetySeconds = 1.5
/** If the rest takes no longer, it is not worthwhile to encode some qualities before others. */
const shortSeconds = 20
/** Decoding a pixel takes about 0.3 of the time that encoding it takes. */
const decodingShare = 0.3
/** The start of ffmpeg, and storing the result. */
export const overheadSeconds = 0.2

/** Decoding starts at a key frame. Sources have one every 2 to 10 seconds. */
const seekSeconds = 4

/** The work of encoding some segments, in millions of encoded pixels. */
export function workOf(
  plan: EncodingPlan,
  sourcePixels: number,
  { qualities, firstSegment, segments }: { qualities: string[]; firstSegment: number; segments: number },
): number {
  const encoded = plan.rungs
    .filter(({ quality }) => qualities.includes(quality))
    .reduce((sum, { width, height }) => sum + width * height, 0)
  const { fromFrame } = segmentOf(plan, firstSegment)
  const frames = segmentOf(plan, firstSegment + segments).fromFrame - fromFrame
  const skipped = Math.min(fromFrame, framesIn(plan.rate, seekSeconds))
  return (frames * encoded + (frames + skipped) * decodingShare * sourcePixels) / 1e6
}

/** The other qualities start after this many seconds of the lowest, and it advances this many times as fast. */
const leadSeconds = 16
const leadFactor = 8

/** Added for videos whose source still arrives: they wait for those that are complete. */
export const partialPriority = 1_000_000_000

/**
 * The videos with the lowest number are encoded first. It is the position in the video, so that the starts of all videos
 * come before the middle of any.
 */
export function priorityOf(
  plan: EncodingPlan,
  { track, qualities, first_segment }: Pick<ChunkRow, 'track' | 'qualities' | 'first_segment'>,
): number {
  const seconds = positionOf(plan, first_segment)
  const base = plan.partial ? partialPriority : 0
  const isAhead = track === 'sound' || qualities.includes(plan.rungs[0]!.quality)
  if (isCopiedQuality(plan, qualities[0]) || isAhead) return base + Math.floor(seconds)
  return base + Math.floor(leadSeconds + leadFactor * seconds)
}

/** The chunks of an encoding, or only those of missing renditions: one for each quality, and one for the audio. */
export function listWork(plan: EncodingPlan, isMissing = (_rendition: string) => true): NewChunk[] {
  const missing = plan.rungs.map(({ quality }) => quality).filter(isMissing)
  const all = { first_segment: 0, segments: countSegments(plan) }
  const video = missing.map((quality) => ({ ...all, track: 'picture' as const, qualities: [quality] }))
  const hasAudio = plan.hasSound && isMissing(audioRendition)
  const audio = hasAudio ? [{ ...all, track: 'sound' as const, qualities: [] }] : []
  return [...video, ...audio].map((chunk) => ({ ...chunk, priority: priorityOf(plan, chunk) }))
}

export const isCopiedQuality = ({ copiesVideo, rungs }: EncodingPlan, quality: string | undefined) =>
  copiesVideo === true && quality === rungs.at(-1)!.quality

/** While the first segment is encoded, other video of it waits: it would take a third longer. At most for this long. */
const maxStartSeconds = 0.6

/** Undefined if nothing is to be encoded at the moment. */
export function chooseWork(situation: Situation): Choice | undefined {
  const { waiting, isStarting, elapsedSeconds } = situation
  // Nothing after it can be played before it is encoded.
  const again = waiting.find(
    ({ failures, losses, qualities }) => failures + losses > 0 || qualities.length > 1,
  )
  if (again) return startOf(again, again.segments)
  const cheap = chooseCopy(situation) ?? chooseAudio(situation)
  if (cheap) return cheap
  const mustWait = isStarting && elapsedSeconds < maxStartSeconds && !situation.plan.copiesVideo
  return mustWait || !hasVideo(waiting) ? undefined : new VideoChoice(situation).choose()
}

const hasVideo = (waiting: WaitingChunk[]) => waiting.some(({ track }) => track === 'picture')

const byPosition = (a: WaitingChunk, b: WaitingChunk) => a.first_segment - b.first_segment

const startOf = (chunk: WaitingChunk, segments: number): Choice => ({
  from: [chunk],
  firstSegment: chunk.first_segment,
  segments: Math.min(chunk.segments, segments),
  decoding: 'full',
})

/** A copied quality takes hardly any time and makes the entire video playable, together with the audio. */
function chooseCopy({ plan, waiting }: Situation): Choice | undefined {
  const video = waiting.filter(({ qualities }) => isCopiedQuality(plan, qualities[0])).sort(byPosition)
  const audio = plan.copiesAudio && plan.copiesVideo ? listAudio(waiting) : []
  const [next] = [...video, ...audio].sort(byPosition)
  return next && startOf(next, copiedSegments(next))
}

/** A minute first, then more and more: each chunk takes as long to record as some segments take to copy. */
const copiedSegments = ({ first_segment }: WaitingChunk) =>
  Math.max(15, Math.min(maxCopiedSegments, 4 * first_segment))

const listAudio = (waiting: WaitingChunk[]) =>
  waiting.filter(({ track }) => track === 'sound').sort(byPosition)

/** Audio stays ahead of the video, in chunks that grow. A worker with one slot starts with it, because it takes less time. */
function chooseAudio({ plan, waiting }: Situation): Choice | undefined {
  const [next] = listAudio(waiting)
  if (!next) return undefined
  const lowest = plan.rungs[0]!.quality
  const video = waiting.filter(({ qualities }) => qualities.includes(lowest)).sort(byPosition)[0]
  if (video && next.first_segment > video.first_segment) return undefined
  if (plan.copiesAudio) return startOf(next, copiedSegments(next))
  return startOf(next, Math.max(1, Math.min(maxAudioSegments, 4 * next.first_segment)))
}

const positionOf = (plan: EncodingPlan, segment: number) =>
  secondsOf(plan, segmentOf(plan, segment).fromFrame)

class VideoChoice {
  readonly #situation: Situation
  readonly #plan: EncodingPlan
  /** The waiting chunks of each quality, the lowest quality first. */
  readonly #qualities: WaitingChunk[][]

  constructor(situation: Situation) {
    const { plan, waiting } = situation
    const video = waiting.filter(({ track }) => track === 'picture').sort(byPosition)
    this.#situation = situation
    this.#plan = plan
    this.#qualities = plan.rungs
      .map(({ quality }) => video.filter(({ qualities }) => qualities.includes(quality)))
      .filter((chunks) => chunks.length > 0)
  }

  choose(): Choice {
    const [lowest] = this.#qualities[0]!
    const next = lowest!.first_segment
    const isLead = lowest!.qualities[0] === this.#plan.rungs[0]!.quality
    // Nobody waits any more. The rest is encoded with as few runs as possible.
    if (!isLead) return this.#behind(Number.POSITIVE_INFINITY, [])!
    const group = this.#keepingUp(next)
    const behind = this.#behind(next, group)
    const margin = positionOf(this.#plan, next) - this.#situation.elapsedSeconds
    // Nothing makes the video playable sooner.
    if (next === 0) return this.#lead(lowest!, group, margin)
    // First what is missing before the position of the lowest quality, if there is enough time.
    const spare = margin - safetyFactor * this.#timeFor(group, next, 1)
    const all = {
      from: group,
      firstSegment: next,
      segments: this.#mostSegments(group, next),
      decoding: 'full',
    } as const
    // A single quality has no others to run ahead of.
    const isTogether = group.length > 1 || this.#qualities.length === 1
    const chosen = (behind && this.#shorten(behind, spare)) ?? (isTogether && this.#shorten(all, margin))
    return chosen || this.#lead(lowest!, group, margin)
  }

  /** The largest group of qualities, from the lowest on, that is encoded faster than it is watched. */
  #keepingUp(segment: number): WaitingChunk[] {
    const { slots } = this.#situation
    const group: WaitingChunk[] = []
    const all = this.#qualities.flatMap((chunks) => {
      const has = ({ first_segment, segments }: WaitingChunk) =>
        first_segment <= segment && segment < first_segment + segments
      return chunks.find(has) ?? []
    })
    const remaining = countSegments(this.#plan) - segment
    if (this.#timeFor(all, segment, remaining) / slots < shortSeconds) return all
    for (const chunk of all) {
      const seconds = this.#timeFor([...group, chunk], segment, maxSegments) / slots
      const isFastEnough = seconds <= this.#secondsOf(segment, maxSegments)
      if (group.length > 0 && !isFastEnough) break
      group.push(chunk)
    }
    return group
  }

  /** What is missing before a position: of the qualities that keep up first, then of the others. */
  #behind(position: number, group: WaitingChunk[]): Choice | undefined {
    const early = this.#qualities
      .map(([first]) => first!)
      .filter(({ first_segment }) => first_segment < position)
    const isKeepingUp = ({ qualities }: WaitingChunk) =>
      group.some((chunk) => chunk.qualities[0] === qualities[0])
    const preferred = early.some(isKeepingUp) ? early.filter(isKeepingUp) : early
    if (preferred.length === 0) return undefined
    const firstSegment = Math.min(...preferred.map(({ first_segment }) => first_segment))
    const from = preferred.filter(({ first_segment }) => first_segment === firstSegment)
    const later = preferred.filter(({ first_segment }) => first_segment > firstSegment)
    const most = Math.min(...later.map(({ first_segment }) => first_segment), position) - firstSegment
    const segments = Math.min(this.#mostSegments(from, firstSegment), most)
    const isLast = countSegments(this.#plan) - firstSegment === 1
    // The last segment is split in two, so that an otherwise idle slot encodes the smaller qualities in parallel.
    const some = isLast && from.length > 2 ? from.slice(-2) : from
    return { from: some, firstSegment, segments, decoding: 'full' }
  }

  #mostSegments(from: WaitingChunk[], segment: number): number {
    const remaining = countSegments(this.#plan) - segment
    const ends = from.map((chunk) => chunk.first_segment + chunk.segments - segment)
    return Math.min(...ends, maxSegments, Math.ceil(remaining / (chunksPerSlot * this.#situation.slots)))
  }

  /** As many segments as are there before a viewer needs them, who needs the first one after `margin` seconds. */
  #shorten(choice: Choice, margin: number): Choice | undefined {
    const { from, firstSegment } = choice
    const isLongEnough = (segments: number) =>
      segments === choice.segments || this.#secondsOf(firstSegment, segments) >= minSeconds
    for (let { segments } = choice; segments > 0 && isLongEnough(segments); segments--) {
      const seconds = safetyFactor * this.#timeFor(from, firstSegment, segments) + safetySeconds
      if (seconds <= margin + this.#secondsOf(firstSegment, segments - 1)) return { ...choice, segments }
    }
    return undefined
  }

  /** This many segments of the lowest quality, so that the group can continue after them. */
  #lead(lowest: WaitingChunk, group: WaitingChunk[], margin: number): Choice {
    const { first_segment: next } = lowest
    const { slots } = this.#situation
    // A long run, because another one would have to decode some of it again. Its first segment is ready almost as soon as
    // on its own.
    const [min, max] = next === 0 ? startSegments : leadSegments
    const most = Math.min(lowest.segments, max)
    const isEnough = (segments: number) => {
      const time = this.#timeFor([lowest], next, segments)
      const firstSegment = next + segments
      const after = {
        from: group,
        firstSegment,
        segments: this.#mostSegments(group, firstSegment),
        decoding: 'full',
      } as const
      return this.#shorten(after, margin + this.#secondsOf(next, segments) - time) !== undefined
    }
    let segments = Math.min(most, min)
    while (segments < most && !isEnough(segments)) segments++
    const isTooSlow = margin < 0 && this.#timeFor([lowest], next, 1) > slots * this.#secondsOf(next, 1)
    return { from: [lowest], firstSegment: next, segments, decoding: isTooSlow ? 'rough' : 'fast' }
  }

  #secondsOf(segment: number, segments: number): number {
    return positionOf(this.#plan, segment + segments) - positionOf(this.#plan, segment)
  }

  /** The expected time for these segments in one slot. */
  #timeFor(chunks: WaitingChunk[], firstSegment: number, segments: number): number {
    const { sourcePixels, secondsPerWork } = this.#situation
    const qualities = chunks.flatMap((chunk) => chunk.qualities)
    const work = workOf(this.#plan, sourcePixels, { qualities, firstSegment, segments })
    return overheadSeconds + secondsPerWork * work
  }
}
