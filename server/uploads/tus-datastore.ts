import type { Readable } from 'node:stream'
import { DataStore, Upload } from '@tus/server'
import type { Context } from '../contracts/context.ts'
import type { SourceRow } from '../contracts/tables.ts'
import { ApiError, notFound } from '../lib/errors.ts'
import * as store from './store.ts'
import { forsakenAfterMs } from './store-source.ts'
import { readMetadata, removeUpload } from './tus-create.ts'
import { type Checksum, writeFrom } from './tus-write.ts'

/** As long as an upload without news is kept: see removeForsakenUploads. */

export type TusRequest = {
  /** Known from the start, but for a request that creates it. */
  videoId: string
  holder: string
  checksum: Checksum | undefined
}

/** What one request of the protocol does to our rows and files; @tus/server has no other way to pass on who asks. */
export class TusDataStore extends DataStore {
  readonly #context: Context
  readonly #request: TusRequest
  override extensions = [
    'creation',
    'creation-with-upload',
    'creation-defer-length',
    'termination',
    'expiration',
    'checksum',
  ]

  constructor(context: Context, request: TusRequest) {
    super()
    this.#context = context
    this.#request = request
  }

  override async getUpload(id: string): Promise<Upload> {
    const source = await this.#findSource()
    const { video_id: videoId, total, size, state, updated_at, tus_metadata } = source
    return new Upload({
      id,
      offset: state === 'receiving' ? await this.#durableOffset() : (size ?? 0),
      ...(total !== null && { size: total }),
      metadata: { ...readMetadata(tus_metadata), videoId },
      // The time from which the expiration counts.
      creation_date: updated_at.toISOString(),
    })
  }

  override async write(body: Readable, _id: string, offset: number): Promise<number> {
    const { holder, checksum } = this.#request
    return writeFrom(this.#context, await this.#findSource(), holder, offset, body, checksum)
  }

  override async declareUploadLength(_id: string, total: number): Promise<void> {
    if (total === 0) throw new ApiError('uploaded-file-empty', { name: 'Upload-Length' })
    const { db, now } = this.#context
    await store.updateSource(db, this.#request.videoId, { total, updated_at: now() })
  }

  override async remove(): Promise<void> {
    await removeUpload(this.#context, this.#request.videoId)
  }

  override getExpiration(): number {
    return forsakenAfterMs
  }

  async #findSource(): Promise<SourceRow> {
    const source = await store.findSource(this.#context.db, this.#request.videoId)
    if (!source) throw notFound('upload')
    return source
  }

  async #durableOffset(): Promise<number> {
    let offset = 0
    for (const { position, size, place } of await store.listPieces(this.#context.db, this.#request.videoId)) {
      if (place !== null && position === offset) offset += size
    }
    return offset
  }
}
