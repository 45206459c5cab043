import type { Readable } from 'node:stream'
import { ApiError, httpErrors } from '../../lib/errors.ts'
import type { StoredChunk } from '../../lib/files/files.ts'
import { newOwnedName } from '../../lib/owner.ts'
import { createVideo } from '../../videos/create.ts'
import { abandonUnlessUsed, type UploadOrigin } from '../source/begin.ts'
import type { UploadContext } from '../source/coordinator.ts'
import { checkSize, isFirst, positionOf, type Range } from '../source/range.ts'
import * as store from '../source/store.ts'
import type { UploadTokenRow } from '../tables.ts'
import { checkTarget, targetOf } from '../tokens/target.ts'
import { RangeBody } from './range-body.ts'
import { adoptChunk, receiveChunk } from './receive.ts'

/** Who uploads with an upload token. */
export type DelegatedUploader = { token: UploadTokenRow; filename: string; address: string }

/** A chunk whose video is not known yet, because many clients send the file before the field `videoId`. */
export type SpooledChunk = { handle: string; key: string; chunk: StoredChunk }

export const originOf = ({ token: { token }, filename, address }: DelegatedUploader): UploadOrigin => ({
  created_by: token,
  token,
  filename,
  address,
})

export async function spoolChunk(
  { files, now }: UploadContext,
  range: Range,
  body: Readable,
): Promise<SpooledChunk> {
  const key = `spool/${newOwnedName()}`
  const handle = await files.beginUpload(key)
  try {
    const rangeBody = new RangeBody(body, range, now)
    const chunk = await files.writeChunk(handle, rangeBody, { order: positionOf(range), offset: 0 })
    checkSize(range, chunk.size)
    return { handle, key, chunk }
  } catch (error) {
    await files.abandonUpload(handle)
    throw error
  }
}

/** Adds a spooled chunk to its video and returns the id of the video. */
export async function assignChunk(
  context: UploadContext,
  uploader: DelegatedUploader,
  range: Range,
  namedId: string | undefined,
  { handle, key, chunk }: SpooledChunk,
): Promise<string> {
  const { files } = context
  let videoId: string | undefined
  try {
    videoId = await chooseVideo(context, uploader, range, namedId)
    const origin = originOf(uploader)
    // The upload of a first chunk becomes the upload of the source. A later chunk is copied to the existing upload.
    if (isFirst(range) && (await adoptChunk(context, videoId, range, origin, { handle, chunk })))
      return videoId
    if (chunk.size > 0) await files.finishUpload(handle, key, [chunk])
    else await files.put(key, Buffer.alloc(0))
    await receiveChunk(context, videoId, range, origin, await files.read(key))
    await files.remove(key)
    return videoId
  } catch (error) {
    if (videoId === undefined) await files.abandonUpload(handle)
    else await abandonUnlessUsed(context, videoId, handle)
    await files.remove(key)
    throw error
  }
}

async function chooseVideo(
  context: UploadContext,
  { token, filename, address }: DelegatedUploader,
  range: Range,
  namedId: string | undefined,
): Promise<string> {
  const { environment } = token
  const target = targetOf(token, namedId)
  if (target !== undefined) {
    await checkTarget(context, environment, target, token)
    return target
  }
  if (isFirst(range)) {
    const scope = { environment, keyId: token.token }
    const video = await createVideo(context, scope, { title: filename }, { uploadToken: token.token })
    return video.id
  }
  const found = await store.findDelegatedUpload(context.db, {
    token: token.token,
    filename,
    address,
    form: range.form,
    position: positionOf(range),
    total: range.form === 'whole' ? undefined : range.total,
  })
  if (found) return found
  throw new ApiError(httpErrors.attributeRequired, {
    name: 'videoId',
    title:
      'This token has no unfinished upload of a file with this name: send the id of the video in the field "videoId".',
  })
}
