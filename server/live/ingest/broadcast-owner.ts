import type { Context } from '../../context.ts'
import { FileStoreError } from '../../lib/files/files.ts'
import type { Restream } from '../../live-streams/tables.ts'
import type { Tools } from '../../media/ffmpeg.ts'
import { UnsupportedStream } from '../../media/h264.ts'
import { recordEvent } from '../../webhooks/events.ts'
import { aacConfigFor, type Sample } from '../media/flv.ts'
import type { Tracks } from '../media/fmp4.ts'
import { BroadcastOutput } from '../output/broadcast-output.ts'
import { endBroadcast } from '../output/end-broadcast.ts'
import { AacConverter } from '../output/ladder/aac-converter.ts'
import type { LadderBudget } from '../output/ladder/budget.ts'
import { Restreams, sandboxRestreamMs } from '../output/restream/restreams.ts'
import { type SegmentFile, WriteQueue } from '../output/write-queue.ts'
import type { AmfObject } from '../rtmp/amf0.ts'
import type { BroadcastEvent, LiveBroadcast } from '../state/live-broadcast.ts'
import { NumberReservation } from '../state/number-reservation.ts'
import { sourceQuality } from '../state/qualities.ts'
import {
  type Broadcast,
  type Claim,
  makeVisible,
  type Position,
  type Renewal,
  type Report,
  renewLeases,
  setAway,
} from '../state/store.ts'
import { HealthMeter } from './health.ts'
import { Pace } from './pace.ts'
import type { Connection } from './rtmp/server.ts'
import type { Publisher } from './rtmp/session.ts'
import { SourceReader } from './source-reader.ts'

/** An encoder that has sent nothing in this many checks is gone. */
const maxSilentChecks = 10
/** After the end, what the encoder sends is discarded for this many checks, or it would begin another broadcast. */
const maxDiscardChecks = 60

type Deps = Pick<Context, 'config' | 'db' | 'files' | 'log' | 'now' | 'queue'> & {
  tools: Pick<Tools, 'ffmpeg'>
  budget: LadderBudget
}

type Options = {
  claim: Claim
  broadcast: Broadcast
  position: Position
  live: LiveBroadcast
  /** The servers that the stream is also sent to. */
  restreams: Restream[]
  connection: Connection
  /** The encoder sends what cannot be broadcast. */
  onUnsupported(reason: string): void
}

/** Receives what one connection of an encoder sends, as the owner of the broadcast. */
export class BroadcastOwner implements Publisher {
  readonly broadcast: Broadcast
  readonly claim: Claim
  readonly #deps: Deps
  readonly #options: Options
  readonly #reader: SourceReader
  readonly #aac: AacConverter
  readonly #numbers: NumberReservation
  readonly #writer: WriteQueue
  readonly #output: BroadcastOutput
  readonly #restreams: Restreams
  readonly #health = new HealthMeter()
  readonly #pace: Pace
  #epoch: number
  #isMp3 = false
  /** How much of the source was not stored. */
  #droppedMs = 0
  #isReceived = false
  #silentChecks = 0
  #discardChecks = 0
  /** Nothing more is received. */
  #isOver = false
  /** Everything that was received is being stored. */
  #finished: Promise<void> | undefined
  #isFinished = false

  constructor(deps: Deps, options: Options) {
    const { claim, broadcast, position, live } = options
    this.#deps = deps
    this.#options = options
    this.claim = claim
    this.broadcast = broadcast
    this.#epoch = position.next.epoch - 1
    this.#pace = new Pace({
      ...{ elapsedMs: position.elapsedMs, reachedMs: position.endMs },
      isUseless: () => this.#isOver || options.connection.isClosed(),
    })
    this.#numbers = new NumberReservation(deps, { claim, position, live })
    const show = (event: BroadcastEvent) => this.#numbers.show(event)
    this.#writer = new WriteQueue({
      ...deps,
      claim,
      onStored: ({ quality, sequence }) => show({ kind: 'stored', quality, sequence }),
      onLost: () => this.#lose(),
      onDropped: (segment) => this.#drop(segment),
      onProblem: (error) => this.#health.report('store', describeProblem(error)),
    })
    this.#output = new BroadcastOutput({
      ...{ ...deps, live, show, writer: this.#writer, nextSequence: position.next.sequence },
      onVisible: (visible) => this.#show(visible),
      onProblem: (kind, message) => this.#health.report(kind, message),
    })
    this.#aac = new AacConverter({
      ...deps,
      // Its configuration is known in advance.
      onConfig: () => {},
      onAudio: (sample, atMs) => this.#output.audio(sample, atMs),
      onFailure: (reason) => this.#health.report('audio', reason),
    })
    this.#restreams = new Restreams({
      ...deps,
      targets: options.restreams,
      allowPrivateNetworks: deps.config.allowPrivateNetworks,
      onChange: () => {},
      endsAt: sandboxEnd(broadcast),
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
    if (!this.#isOver) this.#restreams.metadata(values)
  }

  video(timestamp: number, payload: Buffer): void {
    this.#receive('video', timestamp, payload)
  }

  audio(timestamp: number, payload: Buffer): void {
    this.#receive('audio', timestamp, payload)
  }

  drain(): Promise<void> | undefined {
    return this.#waitForMemory() ?? this.#pace.drain()
  }

  #waitForMemory(): Promise<void> | undefined {
    return this.#writer.drain() ?? this.#numbers.drain()
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Called once a second. Closes a connection that is of no use any more. */
  checkConnection(): void {
    if (this.#isOver) {
      if (++this.#discardChecks > maxDiscardChecks) this.close()
      return
    }
    if (this.#pace.isAhead) this.#options.connection.probe()
    // While nothing is read, the silence is ours.
    const isSilent = !this.#isReceived && !this.#pace.isAhead && this.#waitForMemory() === undefined
    this.#isReceived = false
    this.#silentChecks = isSilent ? this.#silentChecks + 1 : 0
    if (this.#silentChecks > maxSilentChecks) this.close()
  }

  /** The lease is kept until everything is stored. No other process may take over before. */
  get needsLease(): boolean {
    return !this.#isFinished
  }

  /** The health and the states of the restreams, which are stored with each renewal of the lease. */
  report(): Report {
    this.#health.report('start', this.#reader.missing)
    this.#health.report('pace', this.#pace.problem)
    const health = this.#health.read(this.#reader.jumps)
    return { ...this.claim, health, restreams: this.#restreams.states, next: this.#numbers.wanted }
  }

  /** The lease was renewed with this report, or is lost. */
  renewed(renewal: Renewal, { next }: Report): void {
    if (renewal !== 'lost') this.#numbers.confirm(next)
    if (this.#isOver) return
    if (renewal === 'lost') this.#lose()
    else if (renewal === 'completing' || this.#isSandboxOver()) this.#finished = this.#complete()
  }

  /** Resolves when everything is stored. Undefined while the encoder sends. */
  get finished(): Promise<void> | undefined {
    return this.#finished
  }

  /** The encoder has disconnected. Resolves when everything that it sent is stored. */
  disconnect(): Promise<void> {
    this.#finished ??= this.#isOver ? Promise.resolve() : this.#leave()
    return this.#finished
  }

  async #leave(): Promise<void> {
    await this.#finish()
    await this.#writer.run(() => setAway(this.#deps.db, this.claim, this.#numbers.next))
    this.#isFinished = true
  }

  /** Closes the connection of the encoder. */
  close(): void {
    this.#options.connection.close()
  }

  /** The end was requested. */
  async #complete(): Promise<void> {
    await this.#finish()
    const isOurs = await this.#writer.run(() => endBroadcast(this.#deps, this.claim))
    if (isOurs) this.#numbers.show({ kind: 'end' })
    this.#isFinished = true
  }

  async #finish(): Promise<void> {
    this.#isOver = true
    this.#writer.end()
    await this.#aac.close()
    // Not awaited: a slow server must not delay the end, or the next connection of the encoder.
    void this.#restreams.close()
    await this.#output
      .end()
      .catch((err) =>
        this.#deps.log.error(
          { err, broadcastId: this.claim.id },
          'live: the end of a broadcast was not written',
        ),
      )
    await this.#writer.run(async () => {
      const report = this.report()
      const [renewal] = await renewLeases(this.#deps.db, [report])
      if (renewal !== 'lost') this.#numbers.confirm(report.next)
      return renewal !== 'lost'
    })
  }

  /** Another process owns the broadcast, or it was ended. */
  #lose(): void {
    this.#isOver = true
    this.#isFinished = true
    this.#writer.abandon()
    this.#output.abandon()
    void this.#restreams.close()
    void this.#aac.close()
    this.#options.live.close()
    this.close()
  }

  #drop({ quality, sequence, duration_ms: durationMs }: SegmentFile): void {
    // At the end, the last viewers still get it from memory.
    if (!this.#isOver) this.#numbers.show({ kind: 'dropped', quality, sequence })
    if (quality !== sourceQuality) return
    this.#droppedMs += durationMs
    const seconds = Math.ceil(this.#droppedMs / 1000)
    this.#health.report(
      'dropped',
      `${seconds} s of the broadcast could not be stored because the file store was full. They are missing from the recording, and viewers cannot rewind to them.`,
    )
  }

  #isSandboxOver(): boolean {
    const { config, now } = this.#deps
    const maxMs = config.liveSandboxSeconds * 1000
    // The clock of the encoder may be slow.
    const elapsedMs = Math.max(this.#pace.reachedMs, now().getTime() - this.broadcast.started_at.getTime())
    return this.broadcast.environment === 'sandbox' && maxMs > 0 && elapsedMs >= maxMs
  }

  #receive(kind: 'video' | 'audio', timestamp: number, payload: Buffer): void {
    this.#isReceived = true
    if (this.#isOver) return
    try {
      this.#reader[kind](timestamp, payload)
      if (this.#options.restreams.length > 0) this.#restreams[kind](timestamp, payload)
    } catch (error) {
      if (error instanceof UnsupportedStream) this.#options.onUnsupported(error.message)
      throw error
    }
  }

  #start(tracks: Tracks): void {
    this.#epoch++
    this.#pace.start()
    const { audio } = tracks
    this.#isMp3 = audio?.kind === 'mp3'
    if (audio && this.#isMp3) this.#aac.configure(audio)
    this.#health.start(tracks)
    this.#output.start(this.#epoch, this.#isMp3 && audio ? { ...tracks, audio: aacConfigFor(audio) } : tracks)
  }

  #video(sample: Sample, atMs: number): void {
    this.#pace.reach(atMs)
    this.#health.video(sample.data.length, atMs, sample.isKeyFrame)
    this.#output.video(sample, atMs)
  }

  #audio(sample: Sample, atMs: number): void {
    this.#pace.reach(atMs)
    this.#health.audio(sample.data.length, atMs)
    if (this.#isMp3) this.#aac.audio(sample, atMs)
    else this.#output.audio(sample, atMs)
  }

  #show(visible: { targetSeconds: number; qualities: string[] }): void {
    const { db, now } = this.#deps
    this.#options.live.apply({ kind: 'visible', ...visible })
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

const sandboxEnd = ({ environment, started_at: startedAt }: Broadcast) =>
  environment === 'sandbox' ? new Date(startedAt.getTime() + sandboxRestreamMs) : undefined

/** For the owner of the live stream. The log has the details. */
function describeProblem(error: unknown): string | undefined {
  if (error === undefined) return undefined
  const reason =
    error instanceof FileStoreError ? `the file store is ${error.kind}` : (error as Error).message
  return `Segments cannot be stored at the moment: ${reason}.`
}
