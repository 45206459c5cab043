import { createHash, timingSafeEqual } from 'node:crypto'
import { Metadata } from '@tus/server'
import { isAdmitted } from '../../accounts/authenticate.ts'
import type { Context } from '../../context.ts'
import type { Environment } from '../../environments.ts'
import { ApiError, fileErrors, invalidAttribute, notFound } from '../../lib/errors.ts'
import { isId } from '../../lib/ids.ts'
import { titleOfFile } from '../../media/file-title.ts'
import { createVideo } from '../../videos/create.ts'
import { deleteVideo } from '../../videos/delete.ts'
import { findEnvironment, lockVideo } from '../../videos/store.ts'
import type { WatermarkPayload } from '../../videos/watermark.ts'
import { beginSource, newSource, replaceUpload, sourceExists, type UploadOrigin } from '../source/begin.ts'
import type { UploadContext } from '../source/coordinator.ts'
import { deleteUpload } from '../source/delete-upload.ts'
import { rangeError } from '../source/range.ts'
import * as store from '../source/store.ts'
import type { SourceRow, UploadTokenRow } from '../tables.ts'
import { checkTarget, targetOf } from '../tokens/target.ts'

type TusMetadata = Record<string, string | null>

export const readMetadata = (header: string | null | undefined): TusMetadata =>
  header ? Metadata.parse(header) : {}

/**
 * The URL of an upload is enough to continue it, because a client may come back hours later with an expired access
 * token. So the id contains, beside the public id of the video, a secret that only the creator was told.
 */
export const uploadIdOf = ({ video_id, handle }: Pick<SourceRow, 'video_id' | 'handle'>) =>
  `${video_id}-${secretOf(handle)}`

export const videoIdOf = (uploadId: string) => uploadId.split('-')[0] ?? ''

const secretOf = (handle: string) => createHash('sha256').update(`tus ${handle}`).digest('hex').slice(0, 40)

/** The source of an upload. */
export async function findUpload(
  { db }: Pick<Context, 'db'>,
  requiredEnvironment: Environment | undefined,
  id: string,
): Promise<SourceRow> {
  const videoId = videoIdOf(id)
  const environment = isId('vi', videoId) ? await findEnvironment(db, videoId) : undefined
  const isAllowed = environment !== undefined && isAdmitted(environment, requiredEnvironment)
  const source = isAllowed ? await store.findSource(db, videoId) : undefined
  return requireUpload(source, id)
}

/**
 * The source if it still is the upload with this id. Another upload to the same video may have replaced it since the
 * request began.
 */
export function requireUpload(source: SourceRow | undefined, id: string): SourceRow {
  const isTus = source?.form === 'bytes' && source.tus_metadata !== null
  if (!isTus || !isEqual(id, uploadIdOf(source))) throw notFound('upload')
  return source
}

function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** The key or upload token that creates an upload. */
export type Creator = {
  environment: Environment
  keyId: string
  token: UploadTokenRow | undefined
  address: string
}

/** Creates the upload. Also creates its video, unless the request names one or the token is bound to one. */
export async function createUpload(
  context: UploadContext,
  creator: Creator,
  header: string,
  total: number | null,
): Promise<SourceRow> {
  const { environment, keyId, token, address } = creator
  const metadata = readMetadata(header)
  if (total === 0) throw new ApiError(fileErrors.empty, { name: 'Upload-Length' })
  const filename = readName('filename', metadata.filename ?? metadata.name)
  // Without the token, so that chunks of delegated uploads do not find this source when they look for their video.
  const origin = { created_by: keyId, token: null, filename: filename ?? null, address }
  const namedId = metadata.videoId || undefined
  const target = token ? targetOf(token, namedId) : namedId
  if (target !== undefined) {
    await checkTarget(context, environment, target, token)
    // Tells removeUpload that the video existed before the upload.
    const stored = namedId ? header : Metadata.stringify({ ...metadata, videoId: target })
    return begin(context, target, origin, stored, total)
  }
  const title = readName('title', metadata.title) ?? titleOfFile(filename ?? '')
  const watermark = readWatermark(metadata.watermark)
  const video = await createVideo(
    context,
    { environment, keyId },
    { title, ...(watermark && { watermark }) },
    { uploadToken: token?.token },
  )
  try {
    return await begin(context, video.id, origin, header, total)
  } catch (error) {
    await context.db.transaction().execute((trx) => deleteVideo(context, trx, environment, video.id))
    throw error
  }
}

const maxNameLength = 1_000

function readName(name: 'title' | 'filename', value: string | null | undefined): string | undefined {
  if (!value) return undefined
  const text = name === 'filename' ? (value.split(/[/\\]/).pop() ?? '') : value
  if (text.length > maxNameLength || text.includes('\0'))
    throw invalidAttribute(name, `"${name}" must have at most ${maxNameLength} characters and no NUL.`)
  return text
}

/** The same object as in the body of `POST /videos`. Its values are checked with the video. */
function readWatermark(json: string | null | undefined): WatermarkPayload | undefined {
  if (!json) return undefined
  try {
    const watermark: unknown = JSON.parse(json)
    const isObject = typeof watermark === 'object' && watermark !== null
    if (isObject && Object.values(watermark).every((value) => typeof value === 'string')) return watermark
  } catch {
    // It is not JSON.
  }
  throw invalidAttribute('watermark', '"watermark" must be a JSON object whose values are strings.')
}

async function begin(
  context: UploadContext,
  videoId: string,
  origin: UploadOrigin,
  header: string,
  total: number | null,
): Promise<SourceRow> {
  // The metadata is part of the response to requests for the offset.
  const createRow = (handle: string): SourceRow => ({
    ...newSource(videoId, 'bytes', handle, origin, context.now()),
    total,
    tus_metadata: header,
  })
  const created = await beginSource(context, videoId, createRow)
  if (created) return created
  // A client that lost the response to its creation creates the upload again.
  const replaced = await replaceUpload(context, videoId, createRow)
  if (!replaced) throw rangeError('already-initiated', 'Another upload to this video has started.')
  return replaced
}

/** Removes an upload. Also removes its video, unless it existed before the upload. */
export async function removeUpload(
  context: Pick<Context, 'db' | 'files' | 'queue'>,
  id: string,
): Promise<void> {
  const { db, files } = context
  const videoId = videoIdOf(id)
  const handle = await db.transaction().execute(async (trx) => {
    await lockVideo(trx, videoId)
    const source = requireUpload(await store.lockSource(trx, videoId), id)
    if (source.state !== 'receiving') throw sourceExists(source.form)
    if (readMetadata(source.tus_metadata).videoId) {
      await deleteUpload(context, trx, source)
      return source.handle
    }
    const environment = await findEnvironment(trx, videoId)
    if (environment) await deleteVideo(context, trx, environment, videoId)
    return undefined
  })
  if (handle !== undefined) await files.abandonUpload(handle)
}
