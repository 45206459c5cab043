import type { Readable } from 'node:stream'
import { ApiError, httpErrors } from '../lib/errors.ts'
import type { Piece } from '../lib/files/files.ts'
import { newOwnedName } from '../lib/owner.ts'
import { createVideo } from '../videos/create.ts'
import { abandonUnlessKnown } from './begin.ts'
import { checkSize, positionOf, type Range } from './range.ts'
import { adoptPiece, type Deps, limited, receivePiece } from './receive.ts'
import * as store from './store.ts'
import type { UploadTokenRow } from './tables.ts'
import { checkTarget, targetOf } from './target.ts'

/** Who sends a piece with an upload token. */
export type Uploader = { token: UploadTokenRow; filename: string; address: string }

/** A piece whose video is not known yet: many clients name it after the file. */
export type Spooled = { handle: string; key: string; piece: Piece }

export const senderOf = ({ token: { token }, filename, address }: Uploader) => ({
  created_by: token,
  token,
  filename,
  address,
})

export async function spool({ files }: Deps, range: Range, body: Readable): Promise<Spooled> {
  const key = `spool/${newOwnedName()}`
  const handle = await files.beginUpload(key)
  try {
    const piece = await files.writePiece(handle, positionOf(range), 0, limited(body, range))
    checkSize(range, piece.size)
    return { handle, key, piece }
  } catch (error) {
    await files.abandonUpload(handle)
    throw error
  }
}

/** Gives the piece to its video; the video's id. */
export async function deliver(
  deps: Deps,
  uploader: Uploader,
  range: Range,
  named: string | undefined,
  spooled: Spooled,
): Promise<string> {
  const { files } = deps
  let videoId: string | undefined
  try {
    videoId = await chooseVideo(deps, uploader, range, named)
    const sender = senderOf(uploader)
    // The first piece of an upload becomes its beginning as it is; a later one has to be put beside the others.
    if (isFirst(range) && (await adoptPiece(deps, videoId, range, sender, spooled))) return videoId
    if (spooled.piece.size > 0) await files.finishUpload(spooled.handle, spooled.key, [spooled.piece])
    else await files.put(spooled.key, Buffer.alloc(0))
    await receivePiece(deps, videoId, range, sender, await files.read(spooled.key))
    await files.remove(spooled.key)
    return videoId
  } catch (error) {
    if (videoId === undefined) await files.abandonUpload(spooled.handle)
    else await abandonUnlessKnown(deps, videoId, spooled.handle)
    await files.remove(spooled.key)
    throw error
  }
}

const isFirst = (range: Range) =>
  range.form === 'whole' || positionOf(range) === (range.form === 'parts' ? 1 : 0)

async function chooseVideo(
  deps: Deps,
  { token, filename, address }: Uploader,
  range: Range,
  named: string | undefined,
): Promise<string> {
  const { environment } = token
  const target = targetOf(token, named)
  if (target !== undefined) {
    await checkTarget(deps, environment, target, token)
    return target
  }
  if (isFirst(range)) {
    const scope = { environment, keyId: token.token }
    const video = await createVideo(deps, scope, { title: filename }, token.token)
    return video.id
  }
  const total = range.form === 'whole' ? undefined : range.total
  const found = await store.findDelegated(deps.db, {
    token: token.token,
    filename,
    address,
    form: range.form,
    position: positionOf(range),
    total,
  })
  if (found) return found
  throw new ApiError(httpErrors.attributeRequired, {
    name: 'videoId',
    title:
      'No unfinished upload with this token has a file of this name: name the video in the field "videoId".',
  })
}
