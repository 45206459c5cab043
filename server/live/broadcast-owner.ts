import type { Context } from '../context.ts'
import { recordEvent } from '../webhooks/events.ts'
import {
  type Broadcast,
  type Claim,
  makeVisible,
  type Position,
  renewLease,
  setAway,
} from './broadcast-store.ts'
import { endBroadcast } from './end-broadcast.ts'
import { HealthMeter } from './health.ts'
import type { LiveBroadcast } from './live-broadcast.ts'
import type { Sample } from './media/flv.ts'
import type { Tracks } from './media/fmp4.ts'
import { SourceReader } from './media/source-reader.ts'
import { RenditionWriter } from './rendition-writer.ts'
import type { AmfObject } from './rtmp/amf0.ts'
import type { Publisher } from './rtmp/session.ts'
import { SegmentNumbers } from './segment-numbers.ts'
import { SegmentWriter } from './segment-writer.ts'

/** The quality that is passed through. */
export const sourceQuality = 'source'

/** A segment begins at the first key frame after this time. Usual intervals of key frames are 1 and 2 s. */
const minSegmentMs = 1_500
/** Viewers do not wait for the second key frame of a stream whose key frames are further apart than this. */
const shortSegmentMs = 2_500

/** An encoder that has sent nothing in this many checks is gone. */
const maxSilentChecks = 10
/** After the end, what the encoder sends is discarded for this many checks, or it would begin another broadcast. */
const maxDiscardChecks = 60

type Deps = Pick<Context, 'config' | 'db' | 'files' | 'log' | 'now'>

type Options = {
  claim: Claim
  broadcast: Broadcast
  position: Position
  live: LiveBroadcast
  /** Closes the connection of the encoder. */
  close(): void
}

/** Receives what one connection of an encoder sends, as the owner of the broadcast. */
export class BroadcastOwner implements Publisher {
  readonly broadcast: Broadcast
  readonly claim: Claim
  readonly #deps: Deps
  readonly #options: Options
  readonly #reader: SourceReader
  readonly #writer: SegmentWriter
  readonly #numbers: SegmentNumbers
  readonly #source: RenditionWriter
  readonly #health = new HealthMeter()
  #epoch: number
  /** The time of the first sample of this connection. */
  #startMs: number | undefined
  #isReceived = false
  #silentChecks = 0
  #discardChecks = 0
  /** Nothing more is written. */
  #isOver = false
  #disconnected: Promise<void> | undefined

  constructor(deps: Deps, options: Options) {
    const { claim, broadcast, position, live } = options
    this.#deps = deps
    this.#options = options
    this.claim = claim
    this.broadcast = broadcast
    this.#epoch = position.epoch - 1
    this.#numbers = new SegmentNumbers(position.nextSequence)
    this.#writer = new SegmentWriter({
      ...deps,
      claim,
      onStored: ({ quality, sequence }) => live.apply({ kind: 'stored', quality, sequence }),
      onLost: () => this.#lose(),
      onProblem: (message) =>
        this.#health.report('store', message && `Segments cannot be stored at the moment: ${message}`),
    })
    this.#source = new RenditionWriter({
      ...{ quality: sourceQuality, live, writer: this.#writer, now: deps.now },
      startsSegment: (atMs, segmentStartMs) => atMs - segmentStartMs >= minSegmentMs,
      numberOf: (startMs) => this.#numbers.begin(startMs),
    })
    this.#reader = new SourceReader({
      startMs: position.endMs,
      onTracks: (tracks) => this.#start(tracks),
      onVideo: (sample, atMs) => this.#video(sample, atMs),
      onAudio: (sample, atMs) => this.#audio(sample, atMs),
    })
  }

  metadata(values: AmfObject): void {
    this.#reader.metadata(values)
  }

  video(timestamp: number, payload: Buffer): void {
    this.#isReceived = true
    if (!this.#isOver) this.#reader.video(timestamp, payload)
  }

  audio(timestamp: number, payload: Buffer): void {
    this.#isReceived = true
    if (!this.#isOver) this.#reader.audio(timestamp, payload)
  }

  drain(): Promise<void> | undefined {
    return this.#writer.drain()
  }

  /** Called once a second. Closes a connection that is of no use any more. */
  checkConnection(): void {
    if (this.#isOver) {
      if (++this.#discardChecks > maxDiscardChecks) this.#options.close()
      return
    }
    // While nothing is read because the store is slow, the silence is ours.
    const isSilent = !this.#isReceived && this.#writer.drain() === undefined
    this.#isReceived = false
    this.#silentChecks = isSilent ? this.#silentChecks + 1 : 0
    if (this.#silentChecks > maxSilentChecks) this.#options.close()
  }

  /** Keeps the broadcast, until everything is stored. No other process may take over before. */
  async renew(): Promise<void> {
    if (this.#isOver && !this.#disconnected) return
    const health = this.#health.read(this.#reader.jumps)
    const state = await renewLease(this.#deps.db, this.claim, { health, restreams: [] })
    if (this.#isOver) return
    if (state === 'lost') this.#lose()
    if (state === 'completing') await this.#complete()
  }

  /** The encoder has disconnected. Everything that it sent is stored. */
  disconnect(): Promise<void> {
    this.#disconnected ??= this.#leave()
    return this.#disconnected
  }

  async #leave(): Promise<void> {
    if (this.#isOver) return
    this.#isOver = true
    this.#source.end()
    await this.#writer.run(() => setAway(this.#deps.db, this.claim))
  }

  /** The end was requested. */
  async #complete(): Promise<void> {
    if (this.#isOver) return
    this.#isOver = true
    this.#source.end()
    await this.#writer.run(() => endBroadcast(this.#deps, this.claim))
    this.#options.live.apply({ kind: 'end' })
  }

  /** Another process owns the broadcast, or it was ended. */
  #lose(): void {
    this.#isOver = true
    this.#writer.abandon()
    this.#options.live.close()
    this.#options.close()
  }

  #start(tracks: Tracks): void {
    this.#epoch++
    this.#startMs = undefined
    this.#source.start(this.#epoch, tracks)
    this.#health.start(tracks)
  }

  #video(sample: Sample, atMs: number): void {
    this.#health.video(sample.data.length, atMs, sample.isKeyFrame)
    this.#source.video(sample, atMs)
    this.#showAfter(atMs)
  }

  #audio(sample: Sample, atMs: number): void {
    this.#health.audio(sample.data.length, atMs)
    this.#source.audio(sample, atMs)
    this.#showAfter(atMs)
  }

  /** Makes the broadcast visible as soon as the target duration of its playlists is known. */
  #showAfter(atMs: number): void {
    const { live } = this.#options
    if (live.targetSeconds !== undefined) return
    this.#startMs ??= atMs
    const [first] = live.rendition(sourceQuality)?.window.state.segments ?? []
    if (first) this.#show(Math.max(2, Math.round(first.durationMs / 1000)))
    else if (atMs - this.#startMs >= shortSegmentMs) this.#show(4)
  }

  #show(targetSeconds: number): void {
    const { live } = this.#options
    const { db, now } = this.#deps
    const visible = { targetSeconds, qualities: [sourceQuality] }
    live.apply({ kind: 'visible', ...visible })
    const { environment, live_stream_id: liveStreamId } = this.broadcast
    this.#writer.run(() =>
      db.transaction().execute(async (trx) => {
        const shown = await makeVisible(trx, this.claim, visible)
        if (shown?.isFirst)
          await recordEvent(trx, environment, 'live-stream.broadcast.started', { liveStreamId }, now())
        return shown !== undefined
      }),
    )
  }
}
