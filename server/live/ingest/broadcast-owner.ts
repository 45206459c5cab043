import type { Context } from '../../context.ts'
import { FileStoreError } from '../../lib/files/files.ts'
import type { Restream } from '../../live-streams/tables.ts'
import type { Tools } from '../../media/ffmpeg.ts'
import { UnsupportedStream } from '../../media/h264.ts'
import type { Tracks } from '../media/fmp4.ts'
import { droppedFrames, encoderBytes, lostSeconds, type ProblemKind } from '../metrics.ts'
import { BroadcastOutput } from '../output/broadcast-output.ts'
import { endBroadcast } from '../output/end-broadcast.ts'
import type { LadderBudget } from '../output/ladder/budget.ts'
import { Restreams, sandboxRestreamMs } from '../output/restream/restreams.ts'
import { type SegmentFile, WriteQueue } from '../output/write-queue.ts'
import type { AmfObject } from '../rtmp/amf0.ts'
import type { LiveBroadcast } from '../state/live-broadcast.ts'
import { NumberReservation } from '../state/number-reservation.ts'
import { sourceQuality } from '../state/qualities.ts'
import {
  type Broadcast,
  type Claim,
  type Position,
  type Renewal,
  type Report,
  renewLeases,
  setAway,
} from '../state/store.ts'
import { HealthMeter } from './health.ts'
import { Pace } from './pace.ts'
import type { Connection, Publisher } from './publisher.ts'
import { type SourceEvent, SourceReader } from './source-reader.ts'

/** An encoder that has sent nothing in this many checks is gone. */
const maxSilentChecks = 10
/** After the end, what the encoder sends is discarded for this many checks, or it would begin another broadcast. */
const maxDiscardChecks = 60

type Deps = Pick<Context, 'config' | 'db' | 'files' | 'log' | 'metrics' | 'now' | 'queue'> & {
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
  readonly #numbers: NumberReservation
  readonly #writes: WriteQueue
  readonly #output: BroadcastOutput
  readonly #restreams: Restreams
  readonly #health = new HealthMeter()
  readonly #pace: Pace
  #epoch: number
  /** How much of the source was not stored. */
  #droppedMs = 0
  #countedDrops = 0
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
      elapsedMs: position.elapsedMs,
      reachedMs: position.endMs,
      isUseless: () => this.#isOver || options.connection.isClosed(),
    })
    this.#numbers = new NumberReservation(deps, { claim, position, live })
    this.#writes = new WriteQueue({
      ...deps,
      claim,
      onStored: ({ quality, sequence }) => this.#numbers.show({ kind: 'stored', quality, sequence }),
      onLost: () => this.#lose(),
      onDropped: (segment) => this.#drop(segment),
      onProblem: (error) => this.#health.report('store', describeProblem(error)),
    })
    this.#output = new BroadcastOutput({
      ...deps,
      claim,
      broadcast,
      live,
      viewers: this.#numbers,
      writes: this.#writes,
      nextSequence: position.next.sequence,
      onProblem: (kind, message) => this.#health.report(kind, message),
    })
    this.#restreams = new Restreams({
      ...deps,
      targets: options.restreams,
      allowPrivateNetworks: deps.config.allowPrivateNetworks,
      onChange: () => {},
      endsAt: sandboxEnd(broadcast),
    })
    this.#reader = new SourceReader(position.endMs)
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

  refuse(reason: string): void {
    this.#options.onUnsupported(reason)
  }

  drain(): Promise<void> | undefined {
    return this.#waitForMemory() ?? this.#pace.drain()
  }

  #waitForMemory(): Promise<void> | undefined {
    return this.#writes.drain() ?? this.#numbers.drain()
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
    const health = this.#health.read(this.#reader.jumps, this.#options.connection)
    this.#deps.metrics.count(droppedFrames, {}, health.droppedFrames - this.#countedDrops)
    this.#countedDrops = health.droppedFrames
    return { ...this.claim, health, restreams: this.#restreams.states, next: this.#numbers.wanted }
  }

  get problemKinds(): ProblemKind[] {
    return this.#health.problemKinds
  }

  /** How far the encoded qualities are behind the source. */
  get lagMs(): number {
    return this.#output.lagMs
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
    await this.#writes.run(() => setAway(this.#deps.db, this.claim, this.#numbers.next))
    this.#isFinished = true
  }

  /** Closes the connection of the encoder. */
  close(): void {
    this.#options.connection.close()
  }

  /** The end was requested. */
  async #complete(): Promise<void> {
    await this.#finish()
    const isOurs = await this.#writes.run(() => endBroadcast(this.#deps, this.claim))
    if (isOurs) this.#numbers.show({ kind: 'end' })
    this.#isFinished = true
  }

  async #finish(): Promise<void> {
    this.#isOver = true
    this.#writes.end()
    // Not awaited: a slow server must not delay the end, or the next connection of the encoder.
    void this.#restreams.close()
    await this.#output
      .end()
      .catch((err) =>
        this.#deps.log.error(
          { err, broadcastId: this.claim.id },
          'live: the end of a broadcast could not be written',
        ),
      )
    await this.#writes.run(async () => {
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
    this.#writes.abandon()
    this.#output.abandon()
    void this.#restreams.close()
    this.#options.live.close()
    this.close()
  }

  #drop({ quality, sequence, duration_ms: durationMs }: SegmentFile): void {
    // At the end, the last viewers still get it from memory.
    if (!this.#isOver) this.#numbers.show({ kind: 'dropped', quality, sequence })
    if (quality !== sourceQuality) return
    this.#droppedMs += durationMs
    this.#deps.metrics.count(lostSeconds, {}, durationMs / 1000)
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
    this.#deps.metrics.count(encoderBytes, {}, payload.length)
    if (this.#isOver) return
    try {
      for (const event of this.#reader[kind](timestamp, payload)) this.#handle(event)
      if (this.#options.restreams.length > 0) this.#restreams[kind](timestamp, payload)
    } catch (error) {
      if (error instanceof UnsupportedStream) this.#options.onUnsupported(error.message)
      throw error
    }
  }

  #handle(event: SourceEvent): void {
    if (event.kind === 'tracks') {
      this.#start(event.tracks)
      return
    }
    const { kind, sample, atMs } = event
    this.#pace.reach(atMs)
    if (kind === 'video') this.#health.video(sample.data.length, atMs, sample.isKeyFrame)
    else this.#health.audio(sample.data.length, atMs)
    this.#output[kind](sample, atMs)
  }

  #start(tracks: Tracks): void {
    this.#pace.start()
    this.#health.start(tracks)
    this.#output.start(++this.#epoch, tracks)
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
