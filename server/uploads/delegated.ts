import type { Readable } from 'node:stream'
import type { Context } from '../contracts/context.ts'
import type { Environment } from '../contracts/tables.ts'
import { ApiError } from '../lib/errors.ts'
import type { Piece } from '../lib/files/files.ts'
import { newOwnedName } from '../lib/owner.ts'
import { createVideo } from '../videos/create.ts'
import { checkSize, positionOf, type Range } from './range.ts'
import { adoptPiece, limited, receivePiece } from './receive.ts'
import * as store from './store.ts'
import { findTarget } from './target.ts'

type NamedSender = { token: string; filename: string; address: string }

/** A piece whose video is not known yet: many clients name it after the file. */
export type Spooled = { handle: string; key: string; piece: Piece }

export async function spool({ files }: Context, range: Range, body: Readable): Promise<Spooled> {
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
  context: Context,
  environment: Environment,
  range: Range,
  sender: NamedSender,
  named: string | undefined,
  spooled: Spooled,
): Promise<string> {
  const { files } = context
  try {
    const videoId = await chooseVideo(context, environment, range, sender, named)
    // The first piece of an upload becomes its beginning as it is; a later one has to be put beside the others.
    if (isFirst(range) && (await adoptPiece(context, videoId, range, sender, spooled))) return videoId
    if (spooled.piece.size > 0) await files.finishUpload(spooled.handle, spooled.key, [spooled.piece])
    else await files.put(spooled.key, Buffer.alloc(0))
    await receivePiece(context, videoId, range, sender, await files.read(spooled.key))
    await files.remove(spooled.key)
    return videoId
  } catch (error) {
    // A commit whose answer was lost may have made it a video's. What cannot be told is left to the clean-up.
    const isTaken = await store.isHandleKnown(context.db, spooled.handle).catch(() => true)
    if (!isTaken) await files.abandonUpload(spooled.handle)
    await files.remove(spooled.key)
    throw error
  }
}

const isFirst = (range: Range) =>
  range.form === 'whole' || positionOf(range) === (range.form === 'parts' ? 1 : 0)

async function chooseVideo(
  context: Context,
  environment: Environment,
  range: Range,
  sender: NamedSender,
  named: string | undefined,
): Promise<string> {
  if (named) {
    await findTarget(context, environment, named)
    return named
  }
  if (isFirst(range)) {
    const video = await createVideo(context, { environment, keyId: sender.token }, { title: sender.filename })
    return video.id
  }
  const total = range.form === 'whole' ? undefined : range.total
  const position = positionOf(range)
  const found = await store.findDelegated(context.db, { ...sender, form: range.form, position, total })
  if (found) return found
  throw new ApiError('attribute-required', {
    name: 'videoId',
    title:
      'No unfinished upload with this token has a file of this name: name the video in the field "videoId".',
  })
}
