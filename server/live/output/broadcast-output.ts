import type { Log } from '../../lib/log.ts'
import type { Tools } from '../../media/ffmpeg.ts'
import { findUnplayable } from '../../media/h264-format.ts'
import type { Sample } from '../media/flv.ts'
import type { Tracks } from '../media/fmp4.ts'
import type { BroadcastEvent, LiveBroadcast } from '../state/live-broadcast.ts'
import { sourceQuality } from '../state/qualities.ts'
import { EncodedRendition } from './encoded-rendition.ts'
import type { LadderBudget } from './ladder/budget.ts'
import { Ladder } from './ladder/ladder.ts'
import { topQuality } from './ladder/rungs.ts'
import { RenditionOutput } from './rendition-output.ts'
import { SegmentNumbers } from './segment-numbers.ts'
import type { WriteQueue } from './write-queue.ts'

/** The encoded quality of the same size, if viewers cannot watch the source. */
const encodedTop = 'top'

/** A segment begins at the first key frame after this time. Usual intervals of key frames are 1 and 2 s. */
const minSegmentMs = 1_500
/** Encoders add key frames where the scene changes. A segment may begin there if it would become too long otherwise. */
const minSceneMs = 500
/** A source without a key frame for this time is encoded for viewers: they could only join at a key frame. */
const maxGroupMs = 4_500
/** The longest segment of a source that has to be shown nevertheless. */
const maxTargetSeconds = 10

type Options = {
  live: LiveBroadcast
  /** Adds to what viewers see. */
  show(event: BroadcastEvent): void
  writer: WriteQueue
  nextSequence: number
  tools: Pick<Tools, 'ffmpeg'>
  budget: LadderBudget
  log: Log
  now(): Date
  /** What viewers can watch has changed. */
  onVisible(visible: { targetSeconds: number; qualities: string[] }): void
  onProblem(kind: 'ladder' | 'key frames' | 'format', message: string | undefined): void
}

type Timed = { isVideo: boolean; sample: Sample; atMs: number }

/** Of the samples since the last key frame. A sample takes some memory besides its data. */
const maxGroupBytes = 64 * 1024 * 1024
const sampleOverhead = 256

/** Makes all qualities of a broadcast from the samples of the source, and decides which of them viewers can watch. */
export class BroadcastOutput {
  readonly #options: Options
  #numbers: SegmentNumbers
  /** Of the passed-through segments, once they are not shown. */
  #hiddenNumbers: SegmentNumbers | undefined
  readonly #source: RenditionOutput
  #ladder: Ladder
  readonly #ended: Promise<void>[] = []
  readonly #encoded = new Map<string, EncodedRendition>()
  /** The encoded qualities that can be watched. */
  readonly #started = new Set<string>()
  #tracks: Tracks = {}
  readonly #epochs: { startMs: number; epoch: number }[] = []
  #epoch = 0
  /** False once it has failed. */
  #mayEncodeTop = true
  /** The samples since the last key frame, to encode them if the next one does not come in time. */
  #group: Timed[] = []
  #groupBytes = 0
  /** The longest time between two key frames of the source so far. */
  #longestGroupMs = 0
  #lastKeyFrameMs: number | undefined
  /** Viewers can watch what there is. */
  #isShown = false

  constructor(options: Options) {
    this.#options = options
    this.#numbers = new SegmentNumbers(options.nextSequence)
    this.#source = new RenditionOutput({
      ...options,
      ...{ quality: sourceQuality, fence: options.live.fence },
      startsSegment: (atMs, segmentStartMs) => this.#startsSegment(atMs - segmentStartMs),
      numberOf: (startMs) => (this.#hiddenNumbers ?? this.#numbers).begin(startMs),
    })
    this.#ladder = this.#createLadder()
  }

  start(epoch: number, tracks: Tracks): void {
    this.#epoch = epoch
    this.#tracks = tracks
    this.#clearGroup()
    this.#longestGroupMs = 0
    this.#lastKeyFrameMs = undefined
    this.#mayEncodeTop = true
    this.#isShown = false
    this.#epochs.push({ startMs: Number.POSITIVE_INFINITY, epoch })
    if (this.#unplayable && !this.#hiddenNumbers) this.#hideSource()
    this.#source.start(epoch, tracks)
    this.#ladder.configure(tracks, { encodeTop: this.#hiddenNumbers !== undefined })
    this.#reportFormat()
  }

  video(sample: Sample, atMs: number): void {
    this.#begin(atMs)
    if (sample.isKeyFrame) this.#beginGroup(atMs)
    this.#source.video(sample, atMs)
    this.#ladder.video(sample, atMs)
    this.#watchKeyFrames({ isVideo: true, sample, atMs })
    if (!this.#isShown) this.#show()
  }

  audio(sample: Sample, atMs: number): void {
    if (!this.#tracks.video) this.#begin(atMs)
    this.#source.audio(sample, atMs)
    this.#ladder.audio(sample, atMs)
    if (this.#tracks.video) this.#watchKeyFrames({ isVideo: false, sample, atMs })
    if (!this.#isShown) this.#show()
  }

  /** Writes what is left. The encoders deliver their last frames first. */
  async end(): Promise<void> {
    this.#source.end()
    await Promise.all([this.#ladder.close(), ...this.#ended])
    for (const rendition of this.#encoded.values()) rendition.end()
    this.#show()
  }

  /** Stops without waiting for the last frames. */
  abandon(): void {
    void this.#ladder.close(AbortSignal.abort())
  }

  /** The first sample of an epoch tells when it starts. */
  #begin(atMs: number): void {
    const latest = this.#epochs.at(-1)
    if (latest?.startMs === Number.POSITIVE_INFINITY) latest.startMs = atMs
    if (this.#epochs.length > 16) this.#epochs.shift()
  }

  #epochAt(atMs: number): number {
    const found = this.#epochs.findLast(({ startMs }) => startMs <= atMs) ?? this.#epochs[0]
    return found?.epoch ?? this.#epoch
  }

  #beginGroup(atMs: number): void {
    this.#clearGroup()
    this.#longestGroupMs = Math.max(this.#longestGroupMs, atMs - (this.#lastKeyFrameMs ?? atMs))
    this.#lastKeyFrameMs = atMs
  }

  /** Whether a segment of this duration ends at a key frame. No segment is longer than the target, rounded. */
  #startsSegment(durationMs: number): boolean {
    const targetSeconds = this.#options.live.targetSeconds ?? this.#findTarget([sourceQuality])
    const isTooLongWithNext =
      targetSeconds !== undefined && durationMs + this.#longestGroupMs >= 1000 * (targetSeconds + 0.5)
    return durationMs >= minSegmentMs || (durationMs >= minSceneMs && isTooLongWithNext)
  }

  #watchKeyFrames(timed: Timed): void {
    if (this.#hiddenNumbers || !this.#mayEncodeTop) return
    this.#group.push(timed)
    this.#groupBytes += timed.sample.data.length + sampleOverhead
    // While there is only audio, there is nothing to encode.
    const isTooLong = timed.isVideo && timed.atMs - this.#group[0]!.atMs > maxGroupMs
    if (isTooLong || this.#groupBytes > maxGroupBytes) this.#encodeTop()
  }

  #clearGroup(): void {
    this.#group = []
    this.#groupBytes = 0
  }

  /** What devices cannot play of the source. */
  get #unplayable(): string | undefined {
    const { video } = this.#tracks
    return video && findUnplayable(video.format)
  }

  #reportFormat(): void {
    const unplayable = this.#unplayable
    const consequence = this.#hiddenNumbers
      ? 'so the source is encoded for viewers'
      : 'and this machine cannot encode it'
    this.#options.onProblem(
      'format',
      unplayable &&
        `Most devices cannot play ${unplayable}, ${consequence}. Set the encoder to the profile high with 8 bits and 4:2:0.`,
    )
  }

  /** From now on, viewers get encoded qualities only. The source is still recorded. */
  #hideSource(): void {
    this.#hiddenNumbers = new SegmentNumbers(this.#numbers.next)
    // The encoders begin anew at the last key frame. Viewers may have seen its segment from the previous encoders.
    this.#numbers = new SegmentNumbers(this.#numbers.next)
    this.#isShown = false
    this.#ended.push(this.#ladder.close())
    this.#encoded.clear()
    this.#started.clear()
    this.#ladder = this.#createLadder()
  }

  #encodeTop(): void {
    const group = this.#group
    this.#clearGroup()
    this.#hideSource()
    this.#options.onProblem(
      'key frames',
      'Key frames are more than 4 s apart, so the source is encoded for viewers. Set the key frame interval of the encoder to 2 s.',
    )
    this.#ladder.configure(this.#tracks, { encodeTop: true })
    for (const { isVideo, sample, atMs } of group) {
      if (isVideo) this.#ladder.video(sample, atMs)
      else this.#ladder.audio(sample, atMs)
    }
  }

  #createLadder(): Ladder {
    const { live, tools, budget, log, onProblem } = this.#options
    const ladder: Ladder = new Ladder({
      ...{ tools, budget, log },
      onTracks: (quality, tracks) => {
        if (ladder === this.#ladder) this.#renditionOf(quality).tracks(tracks)
      },
      onVideo: (quality, sample, atMs) => {
        if (ladder !== this.#ladder) return
        this.#renditionOf(quality).video(sample, atMs)
        if (live.targetSeconds === undefined) this.#show()
      },
      onAudio: (quality, sample, atMs) => {
        if (ladder === this.#ladder) this.#renditionOf(quality).audio(sample, atMs)
      },
      onChange: (qualities, reason) => {
        onProblem('ladder', reason)
        this.#removeAllBut(qualities)
      },
    })
    return ladder
  }

  #removeAllBut(qualities: string[]): void {
    const kept = qualities.map(nameOf)
    for (const [quality, rendition] of this.#encoded) {
      if (kept.includes(quality)) continue
      rendition.end()
      this.#encoded.delete(quality)
      this.#started.delete(quality)
    }
    // Without any encoded quality, a source that some viewers can watch is better than nothing.
    if (qualities.length === 0 && this.#hiddenNumbers) this.#showSource(this.#hiddenNumbers)
    this.#show()
  }

  #showSource(hidden: SegmentNumbers): void {
    this.#numbers.skipTo(hidden.next)
    this.#hiddenNumbers = undefined
    this.#mayEncodeTop = false
    this.#reportFormat()
  }

  #renditionOf(ladderQuality: string): EncodedRendition {
    const quality = nameOf(ladderQuality)
    const known = this.#encoded.get(quality)
    if (known) return known
    const { live, show, writer, now } = this.#options
    const rendition = new EncodedRendition({
      ...{ quality, fence: live.fence, show, writer, now, minSegmentMs, numbers: this.#numbers },
      isReference: this.#hiddenNumbers !== undefined,
      epochAt: (atMs) => this.#epochAt(atMs),
      onStart: () => {
        this.#started.add(quality)
        this.#show()
      },
    })
    this.#encoded.set(quality, rendition)
    return rendition
  }

  /** Tells what viewers can watch, if that has changed. */
  #show(): void {
    const { live, onVisible } = this.#options
    const qualities = [
      ...(this.#hiddenNumbers ? [] : [sourceQuality]),
      ...[...this.#started].sort((a, b) => heightOf(b) - heightOf(a)),
    ]
    const targetSeconds = live.targetSeconds ?? this.#findTarget(qualities)
    // Until the encoded qualities have begun, viewers keep what they have.
    if (targetSeconds === undefined || qualities.length === 0) return
    this.#isShown = true
    if (live.targetSeconds !== undefined && qualities.join() === live.qualities.join()) return
    onVisible({ targetSeconds, qualities })
  }

  /** The target duration is known with the first segment, and does not change afterwards. */
  #findTarget(qualities: string[]): number | undefined {
    const windows = qualities.map(
      (quality) => this.#options.live.rendition(quality)?.window.state.segments[0],
    )
    const first = windows.find((segment) => segment !== undefined)
    return first && Math.min(maxTargetSeconds, Math.max(2, Math.round(first.durationMs / 1000)))
  }
}

const nameOf = (ladderQuality: string) => (ladderQuality === topQuality ? encodedTop : ladderQuality)

const heightOf = (quality: string) =>
  quality === encodedTop ? Number.POSITIVE_INFINITY : Number.parseInt(quality, 10)
