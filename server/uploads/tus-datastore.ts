import type { Readable } from 'node:stream'
import { DataStore, Upload } from '@tus/server'
import { ApiError, fileErrors, notFound } from '../lib/errors.ts'
import * as pieceStore from './piece-store.ts'
import type { Deps } from './receive.ts'
import * as store from './store.ts'
import { forsakenAfterMs } from './store-source.ts'
import type { SourceRow } from './tables.ts'
import { readMetadata, removeUpload } from './tus-create.ts'
import { type Checksum, writeFrom } from './tus-write.ts'

export type TusRequest = {
  /** What the client's address of uploads begins with. */
  base: string
  /** Known from the start, but for a request that creates it. */
  videoId: string
  holder: string
  checksum: Checksum | undefined
}

/** What one request of the protocol does to our rows and files; @tus/server has no other way to pass on who asks. */
export class TusDataStore extends DataStore {
  readonly #deps: Deps
  readonly #request: TusRequest
  override extensions = [
    'creation',
    'creation-with-upload',
    'creation-defer-length',
    'termination',
    'expiration',
    'checksum',
  ]

  constructor(deps: Deps, request: TusRequest) {
    super()
    this.#deps = deps
    this.#request = request
  }

  override async getUpload(id: string): Promise<Upload> {
    const source = await this.#findSource()
    const { video_id: videoId, total, size, state, updated_at, tus_metadata } = source
    return new Upload({
      id,
      offset: state === 'receiving' ? await this.#durableOffset(source) : (size ?? 0),
      ...(total !== null && { size: total }),
      metadata: { ...readMetadata(tus_metadata), videoId },
      // The time from which the expiration counts.
      creation_date: updated_at.toISOString(),
    })
  }

  override async write(body: Readable, _id: string, offset: number): Promise<number> {
    const { holder, checksum } = this.#request
    return writeFrom(this.#deps, await this.#findSource(), holder, offset, body, checksum)
  }

  override async declareUploadLength(_id: string, total: number): Promise<void> {
    if (total === 0) throw new ApiError(fileErrors.empty, { name: 'Upload-Length' })
    const { db, now } = this.#deps
    await store.updateSource(db, this.#request.videoId, { total, updated_at: now() })
  }

  override async remove(): Promise<void> {
    await removeUpload(this.#deps, this.#request.videoId)
  }

  /** As long as an upload without news is kept: see removeForsakenUploads. */
  override getExpiration(): number {
    return forsakenAfterMs
  }

  async #findSource(): Promise<SourceRow> {
    const source = await store.findSource(this.#deps.db, this.#request.videoId)
    if (!source) throw notFound('upload')
    return source
  }

  /** The sum says it while there is no gap, and there is one only where ranges came by the other ways of uploading. */
  async #durableOffset({ video_id: videoId, received_bytes: bytes }: SourceRow): Promise<number> {
    const { db } = this.#deps
    const last = await pieceStore.findLast(db, videoId)
    const end = last ? last.position + last.size : 0
    return end === bytes ? end : pieceStore.findFirstGap(db, videoId)
  }
}
