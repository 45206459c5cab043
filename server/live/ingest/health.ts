import { codecsOf, type Tracks } from '../media/fmp4.ts'
import type { ProblemKind } from '../metrics.ts'
import type { Connection, Link, Protocol } from './publisher.ts'

/** What the owner of a live stream wants to know about what its encoder sends. */
type Health = {
  protocol: Protocol
  codecs: string | null
  width: number | null
  height: number | null
  /** Frames and bits per second, over the last seconds. */
  frameRate: number | null
  bitRate: number | null
  /** Seconds between the last two key frames. */
  keyFrameInterval: number | null
  /** Frames that are missing between the frames that arrived. */
  droppedFrames: number
  /** Jumps of the encoder's clock, which were evened out. */
  clockJumps: number
  link: Link | null
  /** What is wrong at the moment, as sentences. */
  problems: string[]
}

const windowSeconds = 10
/** A gap of this many usual intervals counts as dropped frames. */
const gapIntervals = 1.7
const maxKeyFrameSeconds = 4

/** What arrived in one second of the broadcast. */
type Second = { second: number; firstMs: number; frames: number; bytes: number }

/** Measures what an encoder sends. Times are those of the broadcast, so that a slow network does not blur them. */
export class HealthMeter {
  #tracks: Tracks = {}
  /** The last ones, the oldest first. */
  #seconds: Second[] = []
  #lastMs = 0
  #lastFrameMs: number | undefined
  #lastKeyFrameMs: number | undefined
  #keyFrameIntervalMs: number | undefined
  #usualIntervalMs: number | undefined
  #droppedFrames = 0
  readonly #problems = new Map<ProblemKind, string>()

  start(tracks: Tracks): void {
    this.#tracks = tracks
    this.#lastFrameMs = undefined
    this.#lastKeyFrameMs = undefined
    this.#usualIntervalMs = undefined
  }

  video(bytes: number, atMs: number, isKeyFrame: boolean): void {
    this.#secondOf(atMs).frames++
    this.#add(bytes, atMs)
    if (this.#lastFrameMs !== undefined) this.#measureGap(atMs - this.#lastFrameMs)
    this.#lastFrameMs = atMs
    if (!isKeyFrame) return
    if (this.#lastKeyFrameMs !== undefined) this.#keyFrameIntervalMs = atMs - this.#lastKeyFrameMs
    this.#lastKeyFrameMs = atMs
  }

  audio(bytes: number, atMs: number): void {
    this.#add(bytes, atMs)
  }

  /** A problem of this kind, or none any more. */
  report(kind: ProblemKind, message: string | undefined): void {
    if (message === undefined) this.#problems.delete(kind)
    else this.#problems.set(kind, message)
  }

  /** The kinds of problems that there are at the moment. */
  get problemKinds(): ProblemKind[] {
    return [
      ...new Set([...this.#problems.keys(), ...(this.#areKeyFramesRare ? ['key-frames' as const] : [])]),
    ]
  }

  read(clockJumps: number, { protocol, link }: Pick<Connection, 'protocol' | 'link'>): Health {
    const measured = link?.()
    this.report('link', measured?.problem)
    const seconds = (this.#lastMs - (this.#seconds[0]?.firstMs ?? 0)) / 1000
    const frames = this.#seconds.reduce((sum, each) => sum + each.frames, 0)
    const bytes = this.#seconds.reduce((sum, each) => sum + each.bytes, 0)
    const { video } = this.#tracks
    const perSecond = (count: number) => (seconds > 0 ? count / seconds : null)
    const bitRate = perSecond(bytes * 8)
    const frameRate = video ? perSecond(frames - 1) : null
    return {
      protocol,
      codecs: codecsOf(this.#tracks) || null,
      width: video?.width ?? null,
      height: video?.height ?? null,
      frameRate: frameRate && Math.round(frameRate * 100) / 100,
      bitRate: bitRate && Math.round(bitRate),
      keyFrameInterval: this.#keyFrameIntervalMs === undefined ? null : this.#keyFrameIntervalMs / 1000,
      droppedFrames: this.#droppedFrames,
      clockJumps,
      link: measured?.link ?? null,
      problems: [...this.#problems.values(), ...this.#keyFrameProblem()],
    }
  }

  #keyFrameProblem(): string[] {
    if (!this.#areKeyFramesRare) return []
    const seconds = (this.#keyFrameIntervalMs ?? 0) / 1000
    return [`Key frames are ${seconds} s apart. Set the key frame interval of the encoder to 2 s.`]
  }

  get #areKeyFramesRare(): boolean {
    return (this.#keyFrameIntervalMs ?? 0) / 1000 > maxKeyFrameSeconds
  }

  #measureGap(gapMs: number): void {
    const usual = this.#usualIntervalMs ?? gapMs
    const missing = Math.round(gapMs / Math.max(1, usual)) - 1
    if (gapMs > usual * gapIntervals && missing > 0) this.#droppedFrames += missing
    // Follows slowly, so that single gaps do not change what is usual.
    else this.#usualIntervalMs = usual + (gapMs - usual) / 20
  }

  #add(bytes: number, atMs: number): void {
    this.#secondOf(atMs).bytes += bytes
    this.#lastMs = Math.max(this.#lastMs, atMs)
  }

  /** A sample of one track may be a little older than the last one of the other track. */
  #secondOf(atMs: number): Second {
    const second = Math.floor(atMs / 1000)
    const last = this.#seconds.at(-1)
    if (last && second <= last.second) return last
    const next = { second, firstMs: atMs, frames: 0, bytes: 0 }
    this.#seconds = this.#seconds.filter((each) => each.second >= second - windowSeconds)
    this.#seconds.push(next)
    return next
  }
}
