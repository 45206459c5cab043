import type { Context } from '../../context.ts'
import type { Tools } from '../../media/ffmpeg.ts'
import { findUnplayable } from '../../media/h264-format.ts'
import { aacConfigFor, type Sample, type TimedSample } from '../media/flv.ts'
import type { Tracks } from '../media/fmp4.ts'
import type { ProblemKind } from '../metrics.ts'
import type { LiveBroadcast } from '../state/live-broadcast.ts'
import { sourceQuality } from '../state/qualities.ts'
import type { Broadcast, Claim } from '../state/store.ts'
import { KeyFrameGroup } from './key-frame-group.ts'
import { AacConverter } from './ladder/aac-converter.ts'
import type { LadderBudget } from './ladder/budget.ts'
import { Ladder } from './ladder/ladder.ts'
import type { EncodedEvent } from './ladder/rung-output.ts'
import { type Destinations, RenditionOutput } from './rendition-output.ts'
import { SegmentNumbers } from './segment-numbers.ts'
import { findTarget, VisibleQualities } from './visible-qualities.ts'

/** A segment begins at the first key frame after this time. Usual intervals of key frames are 1 and 2 s. */
const minSegmentMs = 1_500
/** Encoders add key frames where the scene changes. A segment may begin there if it would become too long otherwise. */
const minSceneMs = 500
/** The encoders are a few seconds behind the source. */
const maxEpochs = 16

type Options = Pick<Context, 'db' | 'log' | 'now'> &
  Destinations & {
    claim: Claim
    broadcast: Broadcast
    live: LiveBroadcast
    nextSequence: number
    tools: Pick<Tools, 'ffmpeg'>
    budget: LadderBudget
    onProblem(kind: ProblemKind, message: string | undefined): void
  }

/** Makes all qualities of a broadcast from the samples of the source. */
export class BroadcastOutput {
  readonly #options: Options
  readonly #visible: VisibleQualities
  readonly #aac: AacConverter
  readonly #source: RenditionOutput
  /** Of the segments that viewers see. */
  #numbers: SegmentNumbers
  /** Of the segments of the source. They are others once the source is not shown. */
  #sourceNumbers: SegmentNumbers
  #ladder: Ladder
  readonly #ended: Promise<void>[] = []
  readonly #encoded = new Map<string, RenditionOutput>()
  #tracks: Tracks = {}
  #isMp3 = false
  readonly #epochs: { startMs: number; epoch: number }[] = []
  #epoch = 0
  /** False once it has failed. */
  #mayEncodeTop = true
  #group = new KeyFrameGroup()

  constructor(options: Options) {
    this.#options = options
    this.#visible = new VisibleQualities(options)
    this.#numbers = new SegmentNumbers(options.nextSequence)
    this.#sourceNumbers = this.#numbers
    this.#source = new RenditionOutput({
      ...options,
      quality: sourceQuality,
      fence: options.claim.fence,
      startsSegment: (atMs, segmentStartMs) => this.#startsSegment(atMs - segmentStartMs),
      numberOf: (startMs) => this.#sourceNumbers.begin(startMs),
    })
    this.#aac = new AacConverter({
      ...options,
      // Its configuration is known in advance.
      onConfig: () => {},
      onAudio: (sample, atMs) => this.#addAudio(sample, atMs),
      onFailure: (reason) => options.onProblem('audio', reason),
    })
    this.#ladder = this.#createLadder()
  }

  /** The next samples have these tracks. The first one of the video is a key frame. */
  start(epoch: number, { video, audio }: Tracks): void {
    this.#isMp3 = audio?.kind === 'mp3'
    if (audio && this.#isMp3) this.#aac.configure(audio)
    const tracks = { video, audio: audio && this.#isMp3 ? aacConfigFor(audio) : audio }
    this.#epoch = epoch
    this.#tracks = tracks
    this.#group = new KeyFrameGroup()
    this.#mayEncodeTop = true
    this.#epochs.push({ startMs: Number.POSITIVE_INFINITY, epoch })
    if (this.#unplayable && this.#visible.isSourceShown) this.#hideSource()
    this.#source.start(epoch, tracks)
    this.#ladder.configure(tracks, { encodeTop: !this.#visible.isSourceShown })
    this.#reportFormat()
  }

  video(sample: Sample, atMs: number): void {
    this.#begin(atMs)
    if (sample.isKeyFrame) this.#group.begin(atMs)
    this.#source.video(sample, atMs)
    this.#ladder.video(sample, atMs)
    this.#watchKeyFrames({ kind: 'video', sample, atMs })
    this.#visible.update()
  }

  audio(sample: Sample, atMs: number): void {
    if (this.#isMp3) this.#aac.audio(sample, atMs)
    else this.#addAudio(sample, atMs)
  }

  #addAudio(sample: Sample, atMs: number): void {
    if (!this.#tracks.video) this.#begin(atMs)
    this.#source.audio(sample, atMs)
    this.#ladder.audio(sample, atMs)
    if (this.#tracks.video) this.#watchKeyFrames({ kind: 'audio', sample, atMs })
    this.#visible.update()
  }

  /** Writes what is left. The encoders deliver their last frames first. */
  async end(): Promise<void> {
    await this.#aac.close()
    this.#source.end()
    await Promise.all([this.#ladder.close(), ...this.#ended])
    for (const rendition of this.#encoded.values()) rendition.end()
    this.#visible.update()
  }

  /** Stops without waiting for the last frames. */
  abandon(): void {
    void this.#aac.close()
    void this.#ladder.close(AbortSignal.abort())
  }

  /** How far the encoded qualities are behind the source. */
  get lagMs(): number {
    return this.#ladder.lagMs
  }

  /** The first sample of an epoch tells when it starts. */
  #begin(atMs: number): void {
    const latest = this.#epochs.at(-1)
    if (latest?.startMs === Number.POSITIVE_INFINITY) latest.startMs = atMs
    if (this.#epochs.length > maxEpochs) this.#epochs.shift()
  }

  /** The epoch of the source at a time. */
  #epochAt(atMs: number): number {
    const found = this.#epochs.findLast(({ startMs }) => startMs <= atMs) ?? this.#epochs[0]
    return found?.epoch ?? this.#epoch
  }

  /** Whether a segment of this duration ends at a key frame. No segment is longer than the target, rounded. */
  #startsSegment(durationMs: number): boolean {
    const targetSeconds = findTarget(this.#options.live, [sourceQuality])
    const isTooLongWithNext =
      targetSeconds !== undefined && durationMs + this.#group.longestMs >= 1000 * (targetSeconds + 0.5)
    return durationMs >= minSegmentMs || (durationMs >= minSceneMs && isTooLongWithNext)
  }

  #watchKeyFrames(timed: TimedSample): void {
    if (!this.#visible.isSourceShown || !this.#mayEncodeTop) return
    const isTooLong = this.#group.add(timed)
    if (isTooLong) this.#encodeTop(this.#group.take())
  }

  /** What devices cannot play of the source. */
  get #unplayable(): string | undefined {
    const { video } = this.#tracks
    return video && findUnplayable(video.format)
  }

  #reportFormat(): void {
    const unplayable = this.#unplayable
    const consequence = this.#visible.isSourceShown
      ? 'and this machine cannot encode it'
      : 'so the source is encoded for viewers'
    this.#options.onProblem(
      'format',
      unplayable &&
        `Most devices cannot play ${unplayable}, ${consequence}. Set the encoder to the High profile with 8-bit 4:2:0 video.`,
    )
  }

  /** From now on, viewers get encoded qualities only. The source is still recorded. */
  #hideSource(): void {
    this.#sourceNumbers = new SegmentNumbers(this.#numbers.next)
    // The encoders begin anew at the last key frame. Viewers may have seen its segment from the previous encoders.
    this.#numbers = new SegmentNumbers(this.#numbers.next)
    this.#ended.push(this.#ladder.close())
    this.#encoded.clear()
    this.#visible.hideSource()
    this.#ladder = this.#createLadder()
  }

  #encodeTop(group: TimedSample[]): void {
    this.#hideSource()
    this.#options.onProblem(
      'key-frames',
      'Key frames are more than 4 s apart, so the source is encoded for viewers. Set the key frame interval of the encoder to 2 s.',
    )
    this.#ladder.configure(this.#tracks, { encodeTop: true })
    for (const { kind, sample, atMs } of group) this.#ladder[kind](sample, atMs)
  }

  /** Without any encoded quality, a source that some viewers can watch is better than nothing. */
  #showSource(): void {
    this.#numbers.skipTo(this.#sourceNumbers.next)
    this.#sourceNumbers = this.#numbers
    this.#visible.showSource()
    this.#mayEncodeTop = false
    this.#reportFormat()
  }

  #createLadder(): Ladder {
    const { tools, budget, log, onProblem } = this.#options
    const ladder: Ladder = new Ladder({
      tools,
      budget,
      log,
      onEvent: (event) => {
        // A ladder that was replaced still delivers its last frames.
        if (ladder === this.#ladder) this.#receiveEncoded(event)
      },
      onChange: (qualities, reason) => {
        onProblem('ladder', reason)
        this.#removeAllBut(qualities)
      },
    })
    return ladder
  }

  #receiveEncoded(event: EncodedEvent): void {
    const { quality } = event
    const rendition = this.#encoded.get(quality) ?? this.#addEncoded(quality)
    if ('tracks' in event) this.#join(rendition, quality, event.tracks)
    else if ('video' in event) rendition.video(event.video, event.atMs)
    else rendition.audio(event.audio, event.atMs)
    this.#visible.update()
  }

  #addEncoded(quality: string): RenditionOutput {
    const numbers = this.#numbers
    const { isSourceShown } = this.#visible
    const rendition = new RenditionOutput({
      ...this.#options,
      quality,
      fence: this.#options.claim.fence,
      // While the source is not shown, the encoded qualities decide together where segments begin.
      startsSegment: (atMs, segmentStartMs) =>
        isSourceShown ? numbers.find(atMs) !== undefined : atMs - segmentStartMs >= minSegmentMs,
      numberOf: (startMs) => numbers.find(startMs) ?? numbers.begin(startMs),
    })
    this.#encoded.set(quality, rendition)
    return rendition
  }

  /** Viewers can watch the quality once it has begun. The encoder is behind the source. */
  #join(rendition: RenditionOutput, quality: string, tracks: Tracks): void {
    const numbers = this.#numbers
    const { isSourceShown } = this.#visible
    rendition.join({
      tracks,
      epochAt: (atMs) =>
        isSourceShown && numbers.find(atMs) === undefined ? undefined : this.#epochAt(atMs),
      onBegin: () => this.#visible.add(quality),
    })
  }

  #removeAllBut(qualities: string[]): void {
    for (const [quality, rendition] of this.#encoded) {
      if (qualities.includes(quality)) continue
      rendition.end()
      this.#encoded.delete(quality)
      this.#visible.remove(quality)
    }
    if (qualities.length === 0 && !this.#visible.isSourceShown) this.#showSource()
    this.#visible.update()
  }
}
