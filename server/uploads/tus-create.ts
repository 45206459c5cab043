import { createHash, timingSafeEqual } from 'node:crypto'
import { Metadata } from '@tus/server'
import { isAdmitted } from '../accounts/authenticate.ts'
import type { Context } from '../context.ts'
import type { Environment } from '../environments.ts'
import { ApiError, fileErrors, invalidAttribute, notFound } from '../lib/errors.ts'
import { isId } from '../lib/ids.ts'
import { createVideo } from '../videos/create.ts'
import { deleteVideo, findEnvironment } from '../videos/store.ts'
import { alreadyFilled, beginSource, newSource, replaceUnstarted, type Sender } from './begin.ts'
import { rangeProblem } from './range.ts'
import type { Deps } from './receive.ts'
import * as store from './store.ts'
import type { SourceRow, UploadTokenRow } from './tables.ts'
import { checkTarget, targetOf } from './target.ts'

type TusMetadata = Record<string, string | null>

export const readMetadata = (header: string | null | undefined): TusMetadata =>
  header ? Metadata.parse(header) : {}

/**
 * Whoever has the address of an upload may go on with it: a client may come back hours later, when its access token has
 * long expired. So the address holds, beside the public id of the video, what only the creator was told.
 */
export const uploadId = ({ video_id, handle }: Pick<SourceRow, 'video_id' | 'handle'>) =>
  `${video_id}-${secretOf(handle)}`

const secretOf = (handle: string) => createHash('sha256').update(`tus ${handle}`).digest('hex').slice(0, 40)

/** The source that an upload fills. */
export async function findUpload(
  { db }: Pick<Context, 'db'>,
  required: Environment | undefined,
  id: string,
): Promise<SourceRow> {
  const [videoId = '', secret = ''] = id.split('-')
  const environment = isId('vi', videoId) ? await findEnvironment(db, videoId) : undefined
  const isOpen = environment !== undefined && isAdmitted(environment, required)
  const source = isOpen ? await store.findSource(db, videoId) : undefined
  const isTus = source?.form === 'bytes' && source.tus_metadata !== null
  if (!isTus || !isEqual(id, uploadId(source)) || !secret) throw notFound('upload')
  return source
}

function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** Whose upload it is: an upload token's, or a key's. */
export type Creator = {
  environment: Environment
  keyId: string
  token: UploadTokenRow | undefined
  address: string
}

/** Makes the upload, and its video unless one is named or the token is bound to one. */
export async function createUpload(
  deps: Deps,
  creator: Creator,
  header: string,
  total: number | null,
): Promise<SourceRow> {
  const { environment, keyId, token, address } = creator
  const metadata = readMetadata(header)
  if (total === 0) throw new ApiError(fileErrors.empty, { name: 'Upload-Length' })
  const filename = readName('filename', metadata.filename ?? metadata.name)
  // Without the token: it is there for parts of other uploads that look for their video, and must not find this one.
  const sender = { created_by: keyId, token: null, filename: filename ?? null, address }
  const named = metadata.videoId || undefined
  const target = token ? targetOf(token, named) : named
  if (target !== undefined) {
    await checkTarget(deps, environment, target, token)
    // By which removeUpload knows that the video was there before.
    const stored = named ? header : Metadata.stringify({ ...metadata, videoId: target })
    return begin(deps, target, sender, stored, total)
  }
  const title = readName('title', metadata.title) ?? filename ?? ''
  const video = await createVideo(deps, { environment, keyId }, { title }, token?.token)
  try {
    return await begin(deps, video.id, sender, header, total)
  } catch (error) {
    const deleted = await deps.db.transaction().execute((trx) => deleteVideo(trx, environment, video.id))
    // The source is there where the answer to its commit was lost.
    if (deleted?.handle) await deps.files.abandonUpload(deleted.handle)
    throw error
  }
}

const longestName = 1_000

function readName(name: 'title' | 'filename', value: string | null | undefined): string | undefined {
  if (!value) return undefined
  const text = name === 'filename' ? (value.split(/[/\\]/).pop() ?? '') : value
  if (text.length > longestName || text.includes('\0'))
    throw invalidAttribute(name, `"${name}" must have at most ${longestName} characters and no NUL.`)
  return text
}

async function begin(
  deps: Deps,
  videoId: string,
  sender: Sender,
  header: string,
  total: number | null,
): Promise<SourceRow> {
  // The metadata is shown to whoever asks for the offset.
  const rowOf = (handle: string): SourceRow => ({
    ...newSource(videoId, 'bytes', handle, sender, deps.now()),
    total,
    tus_metadata: header,
  })
  const begun = await beginSource(deps, videoId, rowOf)
  if (begun) return begun
  // A client that never got the answer to its creation creates the upload once more.
  const again = await replaceUnstarted(deps, videoId, rowOf)
  if (!again) throw rangeProblem('already-initiated', 'Another upload into this video has begun.')
  return again
}

/** Nothing is left of an upload that is given up, except a video that was there before it. */
export async function removeUpload(
  { db, files, queue }: Pick<Context, 'db' | 'files' | 'queue'>,
  videoId: string,
): Promise<void> {
  const handle = await db.transaction().execute(async (trx) => {
    const source = await store.lockSource(trx, videoId)
    if (!source) throw notFound('upload')
    if (source.state !== 'receiving') throw alreadyFilled(source.form)
    if (readMetadata(source.tus_metadata).videoId) {
      await store.deleteSource(trx, videoId)
      return source.handle
    }
    const environment = await findEnvironment(trx, videoId)
    if (environment) await deleteVideo(trx, environment, videoId)
    await queue.send(trx, 'remove-files', { videoId, handle: source.handle })
    return undefined
  })
  if (handle !== undefined) await files.abandonUpload(handle)
}
