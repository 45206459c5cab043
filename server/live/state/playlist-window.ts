/** A part of the window of a rendition. */
export type WindowPart = { durationMs: number; isIndependent: boolean }

export type WindowSegment = {
  /** The media sequence number. It goes on over reconnects of the encoder. */
  sequence: number
  durationMs: number
  /** When its first frame was received, in milliseconds since 1970. */
  receivedAt: number
  /**
   * Counts the connections of the encoder, from 1. Each has its own init segment. It is also the discontinuity number, so
   * that all qualities and processes agree on that, whichever segments they have.
   */
  epoch: number
  /** The size of its file, and the fence that is part of the name of the file. */
  bytes: number
  fence: number
  /** Known for the newest segments only. */
  parts: WindowPart[]
  /** There is no such segment: its owner was lost before it was stored, or the store was full. */
  isGap?: boolean
}

/** What a playlist shows of one quality. */
export type WindowState = {
  segments: readonly WindowSegment[]
  /** The parts of the segment that is being received. */
  open: WindowSegment | undefined
  isEnded: boolean
}

/** Parts of older segments are not listed: players that are so far behind load entire segments. */
const segmentsWithParts = 3
/** Segments are longer, except those of an encoder that changes its configuration again and again. */
const minSegmentMs = 500
/** The playlist needs some duration. Nobody knows how long the lost segment would have become. */
const gapMs = 1_000

/** The segments that viewers can rewind to, and the parts at the live edge. */
export class PlaylistWindow {
  readonly #maxMs: number
  readonly #segments: WindowSegment[] = []
  #open: WindowSegment | undefined
  #durationMs = 0
  #isEnded = false
  #isClosed = false
  #waiting = new Set<() => void>()

  constructor(maxMs: number) {
    this.#maxMs = maxMs
  }

  get state(): WindowState {
    return { segments: this.#segments, open: this.#open, isEnded: this.#isEnded }
  }

  addPart(part: WindowPart, segment: Pick<WindowSegment, 'sequence' | 'epoch' | 'receivedAt'>): void {
    if (this.#open?.sequence !== segment.sequence) {
      this.#fillGap(segment.sequence)
      this.#open = { ...segment, durationMs: 0, bytes: 0, fence: 0, parts: [] }
    }
    this.#open.parts.push(part)
    this.#open.durationMs += part.durationMs
    this.#changed()
  }

  /** Ends the open segment, or adds one whose parts are not known. */
  addSegment(segment: Omit<WindowSegment, 'parts' | 'isGap'>): void {
    this.#fillGap(segment.sequence)
    const parts = this.#open?.sequence === segment.sequence ? this.#open.parts : []
    this.#open = undefined
    this.#push({ ...segment, parts })
    while (this.#isTooLong() && this.#segments.length > 1) this.#removeFirst()
    while (this.#segments[0]?.isGap) this.#removeFirst()
    this.#changed()
  }

  /** The segment was never stored, and is not in memory any more. */
  drop(sequence: number): void {
    const segment = this.find(sequence)
    if (!segment) return
    Object.assign(segment, { isGap: true, parts: [] })
    this.#changed()
  }

  end(): void {
    this.#isEnded = true
    this.#changed()
  }

  /** Nothing more is added. Nobody has to wait. */
  close(): void {
    this.#isClosed = true
    this.#changed()
  }

  /** Resolves when the condition is met, or when nobody has to wait any more. */
  async waitUntil(isMet: () => boolean, signal: AbortSignal): Promise<void> {
    while (!this.#isEnded && !this.#isClosed && !signal.aborted && !isMet()) {
      await new Promise<void>((resolve) => {
        const done = () => {
          signal.removeEventListener('abort', done)
          this.#waiting.delete(done)
          resolve()
        }
        this.#waiting.add(done)
        signal.addEventListener('abort', done)
      })
    }
  }

  /**
   * Whether the playlist contains the part, or the segment if there is no part number. A part that the segment does not
   * have is the first one of the next segment (RFC 8216bis, 6.2.5.2). Otherwise a player that counts on would get the
   * same playlist again and again until then.
   */
  lists(sequence: number, part: number | undefined): boolean {
    const last = this.#segments.at(-1)
    const isPastEnd = part !== undefined && last !== undefined && part >= last.parts.length
    if (last?.sequence !== sequence || !isPastEnd || last.parts.length === 0) return this.has(sequence, part)
    return this.#open !== undefined
  }

  /** Whether the part, or the segment if there is no part number, is there or will never be. */
  has(sequence: number, part: number | undefined): boolean {
    const last = this.#segments.at(-1)?.sequence ?? -1
    if (sequence <= last) return true
    if (part === undefined || this.#open === undefined) return false
    if (this.#open.sequence > sequence) return true
    return this.#open.sequence === sequence && this.#open.parts.length > part
  }

  /** The number of the segment that is being received, or that comes next. */
  get next(): number {
    return this.#open?.sequence ?? (this.#segments.at(-1)?.sequence ?? -1) + 1
  }

  /** Whether the segments end before this part. */
  endsBefore(sequence: number, part: number): boolean {
    const last = this.#segments.at(-1)
    if (!last || sequence !== last.sequence) return sequence >= this.next
    return last.parts.length > 0 && part >= last.parts.length
  }

  /** A complete segment. */
  find(sequence: number): WindowSegment | undefined {
    const found = this.#segments[sequence - (this.#segments[0]?.sequence ?? 0)]
    return found?.isGap ? undefined : found
  }

  /** Players count the segments of a playlist to know their numbers, so each number needs an entry. */
  #fillGap(sequence: number): void {
    for (
      let last = this.#segments.at(-1);
      last && last.sequence + 1 < sequence;
      last = this.#segments.at(-1)
    ) {
      const { epoch, fence, receivedAt, durationMs } = last
      const times = { receivedAt: receivedAt + durationMs, durationMs: gapMs }
      this.#push({ sequence: last.sequence + 1, epoch, fence, ...times, bytes: 0, parts: [], isGap: true })
    }
  }

  #isTooLong(): boolean {
    return this.#durationMs > this.#maxMs || this.#segments.length * minSegmentMs > this.#maxMs
  }

  #push(segment: WindowSegment): void {
    this.#segments.push(segment)
    this.#durationMs += segment.durationMs
    const old = this.#segments.at(-1 - segmentsWithParts)
    if (old) old.parts = []
  }

  #removeFirst(): void {
    this.#durationMs -= this.#segments.shift()?.durationMs ?? 0
  }

  #changed(): void {
    for (const done of [...this.#waiting]) done()
  }
}
