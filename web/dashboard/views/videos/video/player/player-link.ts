import { createStore } from '../../../../ui/store.ts'

type Message = {
  type?: unknown
  callbackId?: unknown
  arg?: unknown
  currentTime?: unknown
  sdkPlayerId?: unknown
}

/** What is known of the player. */
export type PlayerState = { isConnected: boolean; timeMs: number }

const initial: PlayerState = { isConnected: false, timeMs: 0 }

/**
 * Controls the player in its frame by the messages of the player SDK. Until the player is connected, and if its theme
 * does not allow it, nothing happens.
 */
export class PlayerLink {
  readonly #id = String(Math.floor(Math.random() * 1e9))
  readonly state = createStore(initial)
  readonly #answers = new Map<number, (answer: unknown) => void>()
  #frame: HTMLIFrameElement | null = null
  #nextAnswer = 1

  /** Belongs to the URL of the player page. The owner of a video is not counted as a viewer. */
  get fragment(): string {
    return `analytics:false;api;sdkPlayerId:${this.#id};sdkOrigin:${btoa(location.origin)}`
  }

  /** A ref of the frame. */
  attach = (frame: HTMLIFrameElement | null): (() => void) => {
    this.#frame = frame
    window.addEventListener('message', this.#onMessage)
    return () => {
      window.removeEventListener('message', this.#onMessage)
      this.#frame = null
      this.#answers.clear()
      this.state.set(initial)
    }
  }

  /** The exact position, in milliseconds. The last known one if the player does not answer. */
  async position(): Promise<number> {
    if (!this.state.read().isConnected) return this.state.read().timeMs
    const seconds = await this.#ask('getCurrentTime')
    return typeof seconds === 'number' ? Math.round(seconds * 1000) : this.state.read().timeMs
  }

  seek(ms: number): void {
    this.#send({ message: 'setCurrentTime', currentTime: ms / 1000 })
  }

  play(): void {
    this.#send({ message: 'play' })
  }

  pause(): void {
    this.#send({ message: 'pause' })
  }

  #ask(message: string): Promise<unknown> {
    const callbackId = this.#nextAnswer++
    return new Promise((done) => {
      this.#answers.set(callbackId, done)
      this.#send({ message, callbackId })
    })
  }

  #send(message: object): void {
    this.#frame?.contentWindow?.postMessage({ ...message, sdkPlayerId: this.#id }, location.origin)
  }

  #onMessage = ({ source, origin, data }: MessageEvent<Message>) => {
    if (source !== this.#frame?.contentWindow || origin !== location.origin) return
    if (typeof data !== 'object' || data === null || String(data.sdkPlayerId) !== this.#id) return
    if (typeof data.callbackId === 'number') {
      this.#answers.get(data.callbackId)?.(data.arg)
      this.#answers.delete(data.callbackId)
    } else if (data.type === 'sdkSync' || data.type === 'ready')
      this.state.set({ ...this.state.read(), isConnected: true })
    else if (data.type === 'timeupdate' && typeof data.currentTime === 'number')
      this.state.set({ ...this.state.read(), timeMs: Math.round(data.currentTime * 1000) })
  }
}
