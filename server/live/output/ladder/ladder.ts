import type { Log } from '../../../lib/log.ts'
import type { Tools } from '../../../media/ffmpeg.ts'
import type { Sample } from '../../media/flv.ts'
import type { Tracks } from '../../media/fmp4.ts'
import { topQuality } from '../../state/qualities.ts'
import type { KeyFrames } from './arguments.ts'
import type { LadderBudget } from './budget.ts'
import { LadderRun } from './ladder-run.ts'
import type { EncodedEvent } from './rung-output.ts'
import { coresOf, type LiveRung, liveRungs, rungsWithin, threadsFor } from './rungs.ts'

type LadderOptions = {
  tools: Pick<Tools, 'ffmpeg'>
  log: Log
  budget: LadderBudget
  /**
   * `tracks`: a quality begins, begins again after a gap, or changes its configuration. Its next frame is a key frame.
   * `audio` is that of the source, after the video of the same time.
   */
  onEvent(event: EncodedEvent): void
  /** The encoded qualities, and a sentence for the owner of the stream if some are missing. */
  onChange(qualities: string[], reason: string | undefined): void
}

type Source = {
  tracks: Tracks
  /** The qualities that the source is large enough for. */
  wanted: LiveRung[]
  keyFrames: KeyFrames
}

const maxLagMs = 2_000
/** A run that lags by this much is killed. Otherwise the ladder changes at a key frame. */
const maxStuckMs = 20_000
/** The time that a run has to encode its last frames, while the next one waits. */
const maxFinishMs = 4_000
const maxFailures = 3
/** A run of this length is a success. */
const successMs = 10_000
/** FLV has timestamps of 31 bits. */
const maxRunMs = 2 ** 30
const maxEarlyAudio = 1_000
/** The current one, and those that encode their last frames. */
const maxRuns = 4
const closeMs = 10_000
const unknownFrameRate = 30

/**
 * Encodes the lower qualities of a broadcast. If the machine is too slow, the most expensive quality is removed. Changes
 * happen at a key frame of the source: one ffmpeg ends there and the next begins, so that no frame is missing.
 */
export class Ladder {
  readonly #options: LadderOptions
  #source: Source | undefined
  #rungs: LiveRung[] = []
  /** The runs in the order of their frames. Only the first delivers. */
  #runs: LadderRun[] = []
  /** The run that gets the frames of the source: the last one, unless it has failed. */
  #current: LadderRun | undefined
  #isChangeDue = false
  /** Audio with a new configuration, which arrived before the key frame. */
  #earlyAudio: { sample: Sample; atMs: number }[] | undefined
  /** The tracks of the qualities that have begun and have no gap. */
  readonly #begun = new Map<string, Tracks>()
  #lagMs = 0
  #failures = 0
  #maxCores = Number.POSITIVE_INFINITY
  #frameRate = unknownFrameRate
  #keyFrameMs: number | undefined
  #framesSinceKeyFrame = 0

  constructor(options: LadderOptions) {
    this.#options = options
  }

  /**
   * The source has a new configuration from its next key frame on. With `encodeTop`, its own size is encoded too, and key
   * frames are 2 s apart.
   */
  configure(tracks: Tracks, options: { encodeTop: boolean; frameRate?: number | undefined }): void {
    const { encodeTop } = options
    if (options.frameRate) this.#frameRate = clampRate(options.frameRate)
    if (!isSame(tracks, this.#source?.tracks)) this.#earlyAudio = []
    const wanted = tracks.video ? liveRungs(tracks.video, this.#frameRate, encodeTop) : []
    this.#source = { tracks, wanted, keyFrames: encodeTop ? 'regular' : 'source' }
    this.#failures = 0
    // The source may have been away.
    this.#framesSinceKeyFrame = 0
    this.#keyFrameMs = undefined
    const cores = Math.min(this.#maxCores, this.#options.budget.availableFor(this))
    const rungs = tracks.video ? rungsWithin(cores, tracks.video, wanted, this.#frameRate) : []
    this.#change(rungs, reasonFor(wanted, rungs))
  }

  video(sample: Sample, atMs: number): void {
    if (sample.isKeyFrame) this.#onKeyFrame(atMs)
    this.#framesSinceKeyFrame++
    this.#current?.video(sample, atMs)
    if (this.#current && this.#current.lagMs > maxStuckMs) this.#shrink()
  }

  audio(sample: Sample, atMs: number): void {
    if (!this.#earlyAudio) this.#current?.audio(sample, atMs)
    else if (this.#earlyAudio.length < maxEarlyAudio) this.#earlyAudio.push({ sample, atMs })
  }

  /** The source has ended, or is disconnected: the last frames are encoded. `configure` starts again. */
  finish(): void {
    this.#source = undefined
    this.#earlyAudio = undefined
    this.#retire(this.#keyFrameMs)
    this.#options.budget.release(this)
  }

  /** Waits until the last frames have been delivered, or until the signal. */
  async close(signal = AbortSignal.timeout(closeMs)): Promise<void> {
    this.finish()
    const kill = () => {
      for (const run of this.#runs) run.kill()
    }
    if (signal.aborted) kill()
    signal.addEventListener('abort', kill, { once: true })
    await Promise.allSettled(this.#runs.map(({ ended }) => ended))
    signal.removeEventListener('abort', kill)
  }

  /** How far the encoded qualities are behind the source. 0 if none is encoded. */
  get lagMs(): number {
    return this.#current?.lagMs ?? 0
  }

  #onKeyFrame(atMs: number): void {
    const run = this.#current
    this.#measureFrameRate(atMs)
    if (run) {
      this.#reserve(run.deliveredMs >= successMs ? run.cores : undefined)
      if (!this.#isChangeDue && this.#isBehind(run)) this.#shrink()
      if (atMs - run.startMs > maxRunMs) this.#isChangeDue = true
    }
    if (this.#isChangeDue || !this.#current) this.#start(atMs)
    for (const run of this.#runs) if (atMs - (run.finishedMs ?? atMs) > maxFinishMs) run.kill()
  }

  /** A lag that gets smaller is a burst of the source. While a previous run finishes, the lag says nothing. */
  #isBehind(run: LadderRun): boolean {
    const before = this.#lagMs
    this.#lagMs = run === this.#runs[0] ? run.lagMs : 0
    return run.isIncomplete || (before > maxLagMs && this.#lagMs >= before)
  }

  #start(atMs: number): void {
    this.#isChangeDue = false
    this.#retire(atMs)
    // The source changes faster than ffmpeg ends. The next key frame tries again.
    if (this.#runs.length >= maxRuns) return
    const { tools } = this.#options
    const { tracks, keyFrames } = this.#source ?? {}
    const early = this.#earlyAudio ?? []
    this.#earlyAudio = undefined
    if (!tracks?.video || !keyFrames || this.#rungs.length === 0) return
    const [rungs, frameRate] = [this.#rungs, this.#frameRate]
    const threads = threadsFor(coresOf(tracks.video, rungs, frameRate))
    const run = new LadderRun({
      tools,
      rungs,
      keyFrames,
      frameRate,
      threads,
      startMs: atMs,
      source: { video: tracks.video, audio: tracks.audio },
      onEvent: (event) => this.#deliver(event),
    })
    this.#current = run
    this.#lagMs = 0
    this.#runs.push(run)
    if (this.#runs[0] === run) run.takeTurn()
    for (const { sample, atMs } of early) run.audio(sample, atMs)
    void run.ended
      .then((error) => this.#onEnded(run, error))
      .catch((error) => this.#options.log.error({ err: error }, 'a live broadcast could not be encoded'))
  }

  /** The current run gets no more frames. */
  #retire(atMs = 0): void {
    this.#current?.finish(atMs)
    this.#current = undefined
  }

  #onEnded(run: LadderRun, error: Error | undefined): void {
    if (run === this.#current) {
      this.#current = undefined
      this.#onFailure(run, error)
    }
    while (this.#runs[0]?.isEnded) {
      const ended = this.#runs.shift()!
      if (ended.isIncomplete) this.#begun.clear()
      this.#runs[0]?.takeTurn()
    }
  }

  /** ffmpeg exited although its input has not ended. The next key frame starts it again. */
  #onFailure(run: LadderRun, error: Error | undefined): void {
    this.#options.log.warn({ err: error }, 'the ffmpeg of a live broadcast failed')
    run.isIncomplete = true
    if (run.deliveredMs >= successMs) this.#failures = 0
    if (++this.#failures < maxFailures) return
    this.#change([], 'ffmpeg failed repeatedly. Only the quality of the source is available.')
  }

  #shrink(): void {
    const { tracks, wanted = [] } = this.#source ?? {}
    const run = this.#current
    if (!tracks?.video || !run) return
    const rungs = this.#rungs.slice(0, -1)
    this.#maxCores = coresOf(tracks.video, rungs, this.#frameRate)
    // Nothing is to be expected of it.
    if (run.deliveredMs === 0 || run.lagMs > maxStuckMs) {
      run.kill()
      this.#current = undefined
    }
    this.#change(rungs, reasonFor(wanted, rungs))
  }

  #change(rungs: LiveRung[], reason: string | undefined): void {
    this.#rungs = rungs
    this.#isChangeDue = true
    this.#reserve(undefined)
    const qualities = rungs.map(({ quality }) => quality)
    for (const each of this.#begun.keys()) if (!qualities.includes(each)) this.#begun.delete(each)
    this.#options.onChange(qualities, reason)
  }

  #reserve(measured: number | undefined): void {
    const { budget } = this.#options
    const video = this.#source?.tracks.video
    if (video && this.#rungs.length > 0)
      budget.reserve(this, measured ?? coresOf(video, this.#rungs, this.#frameRate))
    else budget.release(this)
  }

  #deliver(event: EncodedEvent): void {
    const { quality } = event
    if (!this.#rungs.some((rung) => rung.quality === quality)) return
    if ('tracks' in event) {
      if (isSame(event.tracks, this.#begun.get(quality))) return
      this.#begun.set(quality, event.tracks)
    }
    this.#options.onEvent(event)
  }

  #measureFrameRate(atMs: number): void {
    const minMs = 500
    const elapsedMs = atMs - (this.#keyFrameMs ?? atMs)
    if (this.#keyFrameMs !== undefined && elapsedMs < minMs) return
    if (elapsedMs > 0) this.#frameRate = clampRate((1000 * this.#framesSinceKeyFrame) / elapsedMs)
    this.#keyFrameMs = atMs
    this.#framesSinceKeyFrame = 0
  }
}

/** Encoders may announce anything. */
const clampRate = (rate: number) => Math.min(240, Math.max(1, rate))

const isSame = (a: Tracks, b: Tracks | undefined) =>
  b !== undefined && isSameRecord(a.video, b.video) && isSameRecord(a.audio, b.audio)

const isSameRecord = (a: { record: Buffer } | undefined, b: { record: Buffer } | undefined) =>
  a === b || (a !== undefined && b !== undefined && a.record.equals(b.record))

function reasonFor(wanted: LiveRung[], rungs: LiveRung[]): string | undefined {
  const missing = wanted.slice(rungs.length).map(({ quality }) => nameOf(quality))
  if (missing.length === 0) return undefined
  if (rungs.length === 0) return 'The CPU is busy, so viewers get the source quality only.'
  return `The CPU is busy, so viewers do not get ${missing.join(', ')}.`
}

const nameOf = (quality: string) => (quality === topQuality ? 'the size of the source' : quality)
