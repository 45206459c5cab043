export type Message = { kind: 'video' | 'audio'; at: number; payload: Buffer }

/** A stream that is behind by more than this is not waited for. In MPEG-TS, encoders collect about 0.2 s of audio. */
const maxLeadMs = 500
const maxHeld = 500
/** More than half a second of any video that is passed through. */
const maxHeldBytes = 16 * 1024 * 1024

/**
 * Puts the messages of two streams in the order of their times. In MPEG-TS, and after a conversion, audio arrives well after
 * the video of the same time. Parts would end without their audio, and players take such a segment for incomplete and load it again.
 */
export class Interleaver {
  readonly #send: (message: Message) => void
  readonly #held: Record<Message['kind'], Message[]> = { video: [], audio: [] }
  #heldBytes = 0

  constructor(send: (message: Message) => void) {
    this.#send = send
  }

  add(message: Message): void {
    this.#held[message.kind].push(message)
    this.#heldBytes += message.payload.length
    while (this.#isReady()) this.#release()
  }

  /** Sends what is left. */
  end(): void {
    while (this.#held.video.length + this.#held.audio.length > 0) this.#release()
  }

  /** Whether the next message is known, or cannot be waited for. */
  #isReady(): boolean {
    const { video, audio } = this.#held
    if (video.length > 0 && audio.length > 0) return true
    const ahead = video.length > 0 ? video : audio
    if (ahead.length === 0) return false
    const isFull = ahead.length > maxHeld || this.#heldBytes > maxHeldBytes
    return isFull || differenceOf(ahead.at(-1)!, ahead[0]!) > maxLeadMs
  }

  #release(): void {
    const { video, audio } = this.#held
    const [nextVideo, nextAudio] = [video[0], audio[0]]
    const isVideo = nextVideo && (!nextAudio || differenceOf(nextVideo, nextAudio) <= 0)
    const next = (isVideo ? video : audio).shift()
    if (!next) return
    this.#heldBytes -= next.payload.length
    this.#send(next)
  }
}

/** Times have 32 bits and wrap around. */
const differenceOf = (a: Message, b: Message) => (a.at - b.at) | 0
