import type { Lookup } from '../../../lib/fetch/dial.ts'
import type { Log } from '../../../lib/log.ts'
import type { Restream as Target } from '../../../live-streams/tables.ts'
import { Timeline } from '../../media/timeline.ts'
import type { AmfObject } from '../../rtmp/amf0.ts'
import { encodeMetadata } from '../../rtmp/client-session.ts'
import { isAudioConfig, isKeyFrame, isVideoConfig, type SourceMessage } from './message.ts'
import { networkOf, openClient } from './open-client.ts'
import { Restream, type RestreamState } from './restream.ts'

type Options = {
  targets: Target[]
  allowPrivateNetworks: boolean
  log: Log
  now(): Date
  /** A state has changed. `states` also has the number of dropped frames at any time. */
  onChange(states: RestreamState[]): void
  /** When the restreams end, although the broadcast goes on. */
  endsAt?: Date | undefined
  lookup?: Lookup
  retryDelayMs?(attempt: number): number
}

/** Restreams of a broadcast in the sandbox end after this time. */
export const sandboxRestreamMs = 2 * 60 * 1000

/** The step at a jump of the encoder's clock. */
const stepMs = 33
/** A stream without video for this long is one of audio only. */
const videoTimeoutMs = 10_000

/** From 1 s to 30 s. Random, so that the restreams of many broadcasts do not return to a server at the same moment. */
export const defaultRetryDelayMs = (attempt: number): number =>
  Math.min(30_000, 1_000 * 2 ** attempt) * (0.5 + Math.random() / 2)

/**
 * Sends the messages of an encoder to other RTMP servers, as they are. Times continue when the encoder connects again.
 * No server delays the caller or another server.
 */
export class Restreams {
  readonly #options: Options
  readonly #restreams: Restream[]
  readonly #timeline = new Timeline(0)
  #metadata: Buffer | undefined
  #videoConfig: Buffer | undefined
  #audioConfig: Buffer | undefined
  /** Until then, audio waits for a key frame. */
  #videoExpectedUntilMs = Number.NEGATIVE_INFINITY
  #hasEnded = false

  constructor(options: Options) {
    this.#options = options
    const { log, now, retryDelayMs = defaultRetryDelayMs } = options
    const defaults = networkOf(options.allowPrivateNetworks)
    const network = { ...defaults, lookup: options.lookup ?? defaults.lookup }
    this.#restreams = options.targets.map(
      (target) =>
        new Restream({
          name: target.name,
          log,
          now,
          retryDelayMs,
          open: (signal, onDrain) => openClient(target, network, { signal, onDrain }),
          onChange: () => options.onChange(this.states),
        }),
    )
  }

  get states(): RestreamState[] {
    return this.#restreams.map(({ state }) => state)
  }

  metadata(values: AmfObject): void {
    this.#metadata = encodeMetadata(values)
    if (values.videocodecid !== undefined) this.#expectVideo(this.#timeline.lastMs)
    this.#send({ kind: 'data', atMs: this.#timeline.lastMs, payload: this.#metadata, role: 'header' })
  }

  video(timestamp: number, payload: Buffer): void {
    if (payload.length < 2) return
    const isConfig = isVideoConfig(payload)
    const atMs = this.#timeOf(timestamp, isConfig)
    this.#expectVideo(atMs)
    if (isConfig) this.#changeVideoConfig(payload)
    this.#send({
      kind: 'video',
      atMs,
      payload,
      role: isConfig ? 'header' : isKeyFrame(payload) ? 'beginning' : 'frame',
    })
  }

  audio(timestamp: number, payload: Buffer): void {
    if (payload.length < 2) return
    const isConfig = isAudioConfig(payload)
    const atMs = this.#timeOf(timestamp, isConfig)
    if (isConfig) this.#audioConfig = payload
    const isAlone = atMs > this.#videoExpectedUntilMs
    this.#send({ kind: 'audio', atMs, payload, role: isConfig ? 'header' : isAlone ? 'beginning' : 'frame' })
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    this.#hasEnded = true
    await Promise.all(this.#restreams.map((each) => each.close()))
  }

  /** Encoders repeat a configuration with any timestamp. It applies from the next frame on. */
  #timeOf(timestamp: number, isConfig: boolean): number {
    return isConfig ? this.#timeline.lastMs : this.#timeline.map(timestamp, stepMs)
  }

  #expectVideo(atMs: number): void {
    this.#videoExpectedUntilMs = atMs + videoTimeoutMs
  }

  #changeVideoConfig(payload: Buffer): void {
    const isChanged = this.#videoConfig !== undefined && !this.#videoConfig.equals(payload)
    this.#videoConfig = payload
    if (isChanged) for (const each of this.#restreams) each.awaitBeginning()
  }

  #send(message: SourceMessage): void {
    if (this.#isOver()) return
    const headers = message.role === 'beginning' ? this.#headersAt(message.atMs) : []
    for (const each of this.#restreams) {
      each.start()
      each.send(message, headers)
    }
  }

  #headersAt(atMs: number): SourceMessage[] {
    const headers = [
      { kind: 'data', payload: this.#metadata },
      { kind: 'video', payload: this.#videoConfig },
      { kind: 'audio', payload: this.#audioConfig },
    ] as const
    return headers.flatMap(({ kind, payload }) =>
      payload ? [{ kind, atMs, payload, role: 'header' as const }] : [],
    )
  }

  #isOver(): boolean {
    const { endsAt, now } = this.#options
    if (this.#hasEnded || !endsAt || now() < endsAt) return this.#hasEnded
    this.#hasEnded = true
    for (const each of this.#restreams) void each.close('Restreams in the sandbox end after 2 minutes.')
    return true
  }
}
