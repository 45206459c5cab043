import type { Readable } from 'node:stream'
import { DataStore, Upload } from '@tus/server'
import { ApiError, fileErrors } from '../../lib/errors.ts'
import { changeSource, type UploadContext } from '../source/coordinator.ts'
import { abandonedAfterMs } from '../source/remove-abandoned.ts'
import * as store from '../source/store.ts'
import * as chunkStore from '../source/upload-chunk-store.ts'
import type { SourceRow } from '../tables.ts'
import { readMetadata, removeUpload, requireUpload, videoIdOf } from './create.ts'
import { type Checksum, writeBody } from './write.ts'

/** Connects @tus/server to the rows and files of sources, for a single request. */
export class TusDataStore extends DataStore {
  readonly #context: UploadContext
  readonly #lockOwner: string
  readonly #checksum: Checksum | undefined
  override extensions = [
    'creation',
    'creation-with-upload',
    'creation-defer-length',
    'termination',
    'expiration',
    'checksum',
  ]

  constructor(
    context: UploadContext,
    { lockOwner, checksum }: { lockOwner: string; checksum: Checksum | undefined },
  ) {
    super()
    this.#context = context
    this.#lockOwner = lockOwner
    this.#checksum = checksum
  }

  override async getUpload(id: string): Promise<Upload> {
    const source = await this.#findSource(id)
    const { video_id: videoId, total, size, state, updated_at, tus_metadata } = source
    return new Upload({
      id,
      offset: state === 'receiving' ? await this.#durableOffset(source) : (size ?? 0),
      ...(total !== null && { size: total }),
      metadata: { ...readMetadata(tus_metadata), videoId },
      // The expiration counts from this time.
      creation_date: updated_at.toISOString(),
    })
  }

  override async write(body: Readable, id: string, offset: number): Promise<number> {
    const source = await this.#findSource(id)
    const write = { source, lockOwner: this.#lockOwner, offset, checksum: this.#checksum }
    return writeBody(this.#context, write, body)
  }

  override async declareUploadLength(id: string, total: number): Promise<void> {
    if (total === 0) throw new ApiError(fileErrors.empty, { name: 'Upload-Length' })
    const videoId = videoIdOf(id)
    await changeSource(this.#context, videoId, async (trx) => {
      requireUpload(await store.lockSource(trx, videoId), id)
      await store.updateSource(trx, videoId, { total, updated_at: this.#context.now() })
    })
  }

  override async remove(id: string): Promise<void> {
    await removeUpload(this.#context, id)
  }

  /** See removeAbandonedUploads. */
  override getExpiration(): number {
    return abandonedAfterMs
  }

  async #findSource(id: string): Promise<SourceRow> {
    return requireUpload(await store.findSource(this.#context.db, videoIdOf(id)), id)
  }

  /** The sum of received bytes, unless there is a gap. Only chunks from other ways of uploading can leave a gap. */
  async #durableOffset({ video_id: videoId, received_bytes: bytes }: SourceRow): Promise<number> {
    const { db } = this.#context
    const last = await chunkStore.findLast(db, videoId)
    const end = last ? last.position + last.size : 0
    return end === bytes ? end : chunkStore.findFirstGap(db, videoId)
  }
}
