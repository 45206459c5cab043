import { codecsOf, type Tracks } from './media/fmp4.ts'

/** What the owner of a live stream wants to know about what its encoder sends. */
export type Health = {
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
  /** What is wrong at the moment, as sentences. */
  problems: string[]
}

const windowMs = 10_000
/** A gap of this many usual intervals counts as dropped frames. */
const gapIntervals = 1.7
const maxKeyFrameSeconds = 4

type Received = { atMs: number; bytes: number; isFrame: boolean }

/** Measures what an encoder sends. Times are those of the broadcast, so that a slow network does not blur them. */
export class HealthMeter {
  #tracks: Tracks = {}
  #received: Received[] = []
  #lastFrameMs: number | undefined
  #lastKeyFrameMs: number | undefined
  #keyFrameIntervalMs: number | undefined
  #usualIntervalMs: number | undefined
  #droppedFrames = 0
  readonly #problems = new Map<string, string>()

  start(tracks: Tracks): void {
    this.#tracks = tracks
    this.#lastFrameMs = undefined
    this.#lastKeyFrameMs = undefined
    this.#usualIntervalMs = undefined
  }

  video(bytes: number, atMs: number, isKeyFrame: boolean): void {
    this.#add({ atMs, bytes, isFrame: true })
    if (this.#lastFrameMs !== undefined) this.#measureGap(atMs - this.#lastFrameMs)
    this.#lastFrameMs = atMs
    if (!isKeyFrame) return
    if (this.#lastKeyFrameMs !== undefined) this.#keyFrameIntervalMs = atMs - this.#lastKeyFrameMs
    this.#lastKeyFrameMs = atMs
  }

  audio(bytes: number, atMs: number): void {
    this.#add({ atMs, bytes, isFrame: false })
  }

  /** A problem of this kind, or none any more. */
  report(kind: string, message: string | undefined): void {
    if (message === undefined) this.#problems.delete(kind)
    else this.#problems.set(kind, message)
  }

  read(clockJumps: number): Health {
    const last = this.#received.at(-1)?.atMs ?? 0
    const recent = this.#received.filter(({ atMs }) => atMs >= last - windowMs)
    const seconds = (last - (recent[0]?.atMs ?? 0)) / 1000
    const frames = recent.filter(({ isFrame }) => isFrame).length
    const bytes = recent.reduce((sum, each) => sum + each.bytes, 0)
    const { video } = this.#tracks
    const perSecond = (count: number) => (seconds > 0 ? count / seconds : null)
    const bitRate = perSecond(bytes * 8)
    const frameRate = video ? perSecond(frames - 1) : null
    return {
      codecs: codecsOf(this.#tracks) || null,
      ...{ width: video?.width ?? null, height: video?.height ?? null },
      frameRate: frameRate && Math.round(frameRate * 100) / 100,
      bitRate: bitRate && Math.round(bitRate),
      keyFrameInterval: this.#keyFrameIntervalMs === undefined ? null : this.#keyFrameIntervalMs / 1000,
      ...{ droppedFrames: this.#droppedFrames, clockJumps },
      problems: [...this.#problems.values(), ...this.#keyFrameProblem()],
    }
  }

  #keyFrameProblem(): string[] {
    const seconds = (this.#keyFrameIntervalMs ?? 0) / 1000
    if (seconds <= maxKeyFrameSeconds) return []
    return [`Key frames are ${seconds} s apart. Set the key frame interval of the encoder to 2 s.`]
  }

  #measureGap(gapMs: number): void {
    const usual = this.#usualIntervalMs ?? gapMs
    const missing = Math.round(gapMs / Math.max(1, usual)) - 1
    if (gapMs > usual * gapIntervals && missing > 0) this.#droppedFrames += missing
    // Follows slowly, so that single gaps do not change what is usual.
    else this.#usualIntervalMs = usual + (gapMs - usual) / 20
  }

  #add(received: Received): void {
    this.#received.push(received)
    const oldest = received.atMs - windowMs
    const index = this.#received.findIndex(({ atMs }) => atMs >= oldest)
    // Removing one by one would copy the array for every frame.
    if (index > 1_000 || this.#received.length > 50_000) this.#received.splice(0, Math.max(index, 1))
  }
}
