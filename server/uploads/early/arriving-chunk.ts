import { randomUUID } from 'node:crypto'
import type { Transaction } from 'kysely'
import type { StoredChunk, WrittenPlace } from '../../lib/files/files.ts'
import type { Tables } from '../../tables.ts'
import { lockDiscardState } from '../../videos/discarded-store.ts'
import {
  type ArrivalContext,
  arrivingOf,
  discardBytes,
  examineIfDue,
  replaceBytes,
} from '../source/arrival.ts'
import * as arrivingStore from '../source/arriving-store.ts'
import * as store from '../source/store.ts'
import type { SourceRow } from '../tables.ts'

const reportEveryMs = 1_000

type RecordedChunk = {
  chunk: StoredChunk
  /** In the file. Undefined for a part, whose place depends on the parts before it. */
  position: number | undefined
  /** Of the source, with this chunk. */
  receivedBytes: number
}

type Upload = Pick<SourceRow, 'video_id' | 'handle'>

/**
 * A chunk that is being written. While it arrives, tells workers how much of it they can read. Only what the request knows
 * at its end is certain: `record` and `discard` correct what was told.
 */
export class ArrivingChunk {
  readonly #context: ArrivalContext
  readonly #upload: Upload
  readonly #owner = randomUUID()
  #written: WrittenPlace | undefined
  #isReported = false
  #isClosed = false
  #reportedAt = Number.NEGATIVE_INFINITY
  #reporting: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined

  constructor(context: ArrivalContext, upload: Upload) {
    this.#context = context
    this.#upload = upload
  }

  /** For `Files.writeChunk`. */
  readonly onWritten = (place: WrittenPlace | undefined): void => {
    this.#written = place
    if (this.#context.config.encodesDuringUpload && !this.#isClosed) this.#timer ??= this.#schedule()
  }

  /** At once, or when the last report is old enough. */
  #schedule(): NodeJS.Timeout {
    const elapsedMs = performance.now() - this.#reportedAt
    return setTimeout(
      () => {
        this.#reportedAt = performance.now()
        const place = this.#written
        this.#reporting = this.#report(place)
          // The upload does not depend on it.
          .catch((err) =>
            this.#context.log.debug({ err, videoId: this.#upload.video_id }, 'an upload is not examined'),
          )
          .finally(() => {
            const isOutdated = this.#written !== place && !this.#isClosed
            this.#timer = isOutdated ? this.#schedule() : undefined
          })
      },
      Math.max(0, reportEveryMs - elapsedMs),
    ).unref()
  }

  #close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  /** In the transaction that records the chunk. The caller has locked the source. */
  async record(
    trx: Transaction<Tables>,
    source: SourceRow,
    { chunk, position, receivedBytes }: RecordedChunk,
  ): Promise<void> {
    this.#close()
    const from = this.#context.files.offsetInUpload(source.handle, chunk) ?? position
    const isInPlace = this.#isReported && this.#written?.from === from
    const replaced = isInPlace
      ? undefined
      : from === undefined
        ? arrivingOf(source)
        : { from, to: from + chunk.size }
    if (replaced) await replaceBytes(this.#context, trx, source, replaced)
    if (this.#isReported) await arrivingStore.clearArriving(trx, source.video_id, this.#owner)
    const current = replaced ? await store.findSource(trx, source.video_id) : source
    if (current) await examineIfDue(this.#context, trx, current, receivedBytes)
  }

  /** The chunk was not recorded: its client left, or it was rejected. */
  async discard(): Promise<void> {
    this.#close()
    await this.#reporting
    if (this.#isReported) await this.#context.db.transaction().execute((trx) => this.#forget(trx))
  }

  async #report(place: WrittenPlace | undefined): Promise<void> {
    await this.#context.db.transaction().execute(async (trx) => {
      if (place === undefined) return this.#forget(trx)
      const source = await this.#lock(trx)
      if (!source || this.#isClosed) return
      const { from, bytes } = place
      let current = source
      if (!this.#isReported) {
        await replaceBytes(this.#context, trx, source, { from, to: from + bytes })
        current = (await store.findSource(trx, source.video_id)) ?? source
      }
      await arrivingStore.recordArriving(trx, source.video_id, { owner: this.#owner, from, bytes })
      this.#isReported = true
      await examineIfDue(this.#context, trx, current, source.received_bytes + bytes)
    })
  }

  /** What was written is not part of the source, or not at its place. */
  async #forget(trx: Transaction<Tables>): Promise<void> {
    const source = await this.#lock(trx)
    if (!source || source.arriving_owner !== this.#owner) return
    const range = arrivingOf(source)
    await arrivingStore.clearArriving(trx, source.video_id, this.#owner)
    if (range) await discardBytes(this.#context, trx, source, range)
  }

  /** First the video, as a deletion does: Postgres locks it again when a row that refers to it is updated twice. */
  async #lock(trx: Transaction<Tables>): Promise<SourceRow | undefined> {
    if (!(await lockDiscardState(trx, this.#upload.video_id))) return undefined
    const source = await store.lockSource(trx, this.#upload.video_id)
    return source?.state === 'receiving' && source.handle === this.#upload.handle ? source : undefined
  }
}

/** Never throws. If the chunk cannot be discarded now, whoever sends it again does that. */
export const discardArriving = (
  { log }: Pick<ArrivalContext, 'log'>,
  videoId: string,
  arriving: ArrivingChunk,
): Promise<void> =>
  arriving
    .discard()
    .catch((err) => log.warn({ err, videoId }, 'what has arrived of a chunk cannot be discarded'))
