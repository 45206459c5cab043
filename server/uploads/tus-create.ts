import { createHash, timingSafeEqual } from 'node:crypto'
import { Metadata } from '@tus/server'
import { isAdmitted } from '../accounts/authenticate.ts'
import type { Context } from '../contracts/context.ts'
import type { Environment, SourceRow } from '../contracts/tables.ts'
import { ApiError, invalidAttribute, notFound } from '../lib/errors.ts'
import { isId } from '../lib/ids.ts'
import { createVideo } from '../videos/create.ts'
import { deleteVideo, findEnvironment } from '../videos/store.ts'
import { alreadyFilled, newSource, type Sender, sourceKey } from './claim.ts'
import { rangeProblem } from './range.ts'
import * as store from './store.ts'
import { findTarget } from './target.ts'

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
  if (source?.form !== 'bytes' || !isEqual(id, uploadId(source)) || !secret) throw notFound('upload')
  return source
}

function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}

export type Creator = { environment: Environment; keyId: string; address: string }

/** Makes the upload, and its video unless one is named. */
export async function createUpload(
  context: Context,
  creator: Creator,
  header: string | null,
  total: number | null,
): Promise<SourceRow> {
  const metadata = readMetadata(header)
  if (total === 0) throw new ApiError('uploaded-file-empty', { name: 'Upload-Length' })
  const filename = readName('filename', metadata.filename ?? metadata.name)
  // Without the token: it is there for parts of other uploads that look for their video, and must not find this one.
  const sender = { token: null, filename: filename ?? null, address: creator.address }
  if (metadata.videoId) {
    await findTarget(context, creator.environment, metadata.videoId)
    return begin(context, metadata.videoId, sender, header, total)
  }
  const title = readName('title', metadata.title) ?? filename ?? ''
  const video = await createVideo(context, creator, { title })
  try {
    return await begin(context, video.id, sender, header, total)
  } catch (error) {
    await context.db.transaction().execute((trx) => deleteVideo(trx, creator.environment, video.id))
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
  { db, files, now }: Context,
  videoId: string,
  sender: Sender,
  header: string | null,
  total: number | null,
): Promise<SourceRow> {
  const handle = await files.beginUpload(sourceKey(videoId))
  // The metadata is shown to whoever asks for the offset; of an upload, the column has nothing else to hold.
  const row = { ...newSource(videoId, 'bytes', handle, sender, now()), total, tus_metadata: header }
  try {
    if (await store.insertSource(db, row)) return row
    const found = await store.findSource(db, videoId)
    if (found && found.state !== 'receiving') throw alreadyFilled(found.form)
    throw rangeProblem('already-initiated', 'Another upload into this video has begun.')
  } catch (error) {
    await files.abandonUpload(handle)
    if (error instanceof Error && 'code' in error && error.code === '23503') throw notFound('videoId')
    throw error
  }
}

/** Nothing is left of an upload that is given up, except a video that was there before it. */
export async function removeUpload({ db, files, queue }: Context, videoId: string): Promise<void> {
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
