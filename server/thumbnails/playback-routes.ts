import { readFile } from 'node:fs/promises'
import type { Access } from '../access/check.ts'
import type { Context } from '../context.ts'
import { ApiError, httpErrors, notFound } from '../lib/errors.ts'
import type { App } from '../lib/http.ts'
import { spritesVtt } from '../media/sprites.ts'
import { inFile, inMemory } from '../playback/send.ts'
import { type Found, forAMinute, forEver, serveMedia } from '../playback/serve.ts'
import * as store from '../playback/store.ts'

const sheetPattern = /^(0|[1-9]\d{0,2})\.jpg$/
const noThumbnail = new URL('no-thumbnail.jpg', import.meta.url)

/** What is shown of a video before it plays, and while one seeks. */
export async function pictureRoutes(app: App, context: Context): Promise<void> {
  const neutral = await readFile(noThumbnail)
  const find = async (videoId: string, prepare: (row: store.PicturesRow) => ReturnType<Found['prepare']>) => {
    const row = await store.findPictures(context.db, videoId)
    return row && { public: row.public, prepare: () => prepare(row) }
  }
  serveMedia(app, context, {
    path: 'thumbnail.jpg',
    isGlance: true,
    find: (_request, { videoId }) => find(videoId, (row) => prepareThumbnail(context, row, neutral)),
  })
  serveMedia(app, context, {
    path: 'sprites.vtt',
    isGlance: true,
    find: (_request, { videoId }) => find(videoId, prepareSprites),
  })
  serveMedia(app, context, {
    path: 'sprites/:file',
    isGlance: true,
    find(_request, { videoId, file }) {
      const [, sheet] = sheetPattern.exec(file) ?? []
      if (sheet === undefined) throw new ApiError(httpErrors.unknownUrl)
      return find(videoId, (row) => prepareSheet(context, row, Number(sheet)))
    },
  })
}

/** An address that is given out from the first moment on shows something from then on, too. */
async function prepareThumbnail({ files }: Context, { thumbnailKey }: store.PicturesRow, neutral: Buffer) {
  const found = thumbnailKey === null ? undefined : await files.stat(thumbnailKey)
  if (thumbnailKey === null || !found) return () => inMemory(neutral, 'image/jpeg', 'no-store')
  return () => inFile({ key: thumbnailKey, size: found.size }, 'image/jpeg', forAMinute)
}

function prepareSprites({ sprites, plan }: store.PicturesRow) {
  if (!sprites || !plan) throw notFound('videoId')
  return ({ query }: Access) => {
    const text = spritesVtt(plan, sprites, (sheet) => `sprites/${sheet}.jpg${query}`)
    return inMemory(Buffer.from(text), 'text/vtt', forAMinute)
  }
}

async function prepareSheet({ files }: Context, { spritesKey }: store.PicturesRow, sheet: number) {
  const key = `${spritesKey}/${sheet}.jpg`
  const found = spritesKey === null ? undefined : await files.stat(key)
  if (!found) throw notFound('file')
  return () => inFile({ key, size: found.size }, 'image/jpeg', forEver)
}
