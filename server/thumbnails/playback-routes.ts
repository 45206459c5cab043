import type { Context } from '../context.ts'
import { ApiError, httpErrors, notFound } from '../lib/errors.ts'
import type { App } from '../lib/http.ts'
import { spritesVtt } from '../media/sprites.ts'
import { loadPlaceholder } from '../playback/placeholder.ts'
import { type Content, inFile, inMemory } from '../playback/send.ts'
import { cacheForever, cacheOneMinute, serveMedia } from '../playback/serve.ts'
import { spriteSheetFile } from '../videos/files.ts'
import { videoKind } from '../videos/paths.ts'
import { findThumbnailAsset, type ThumbnailAsset } from './store.ts'

const sheetPattern = /^(0|[1-9]\d{0,2})\.jpg$/

/** The images that players show before playback and while seeking. */
export async function thumbnailPlaybackRoutes(app: App, context: Context): Promise<void> {
  const placeholder = await loadPlaceholder()
  serveMedia(app, context, {
    kind: videoKind,
    sentKind: 'image',
    suffix: '/thumbnail.jpg',
    isPreview: true,
    find: ({ videoId }) => findThumbnailAsset(context.db, videoId),
    load: (asset) => loadThumbnail(context, asset, placeholder),
    render: (content: Content) => content,
  })
  serveMedia(app, context, {
    kind: videoKind,
    sentKind: 'image',
    suffix: '/sprites.vtt',
    isPreview: true,
    find: ({ videoId }) => findThumbnailAsset(context.db, videoId),
    load: loadSprites,
    render: ({ plan, sprites }, { query }) =>
      inMemory(
        Buffer.from(spritesVtt(plan, sprites, (sheet) => `sprites/${sheet}.jpg${query}`)),
        'text/vtt',
        cacheOneMinute,
      ),
  })
  serveMedia(app, context, {
    kind: videoKind,
    sentKind: 'image',
    suffix: '/sprites/:file',
    isPreview: true,
    async find({ videoId, file }) {
      const [, sheet] = sheetPattern.exec(file) ?? []
      if (sheet === undefined) throw new ApiError(httpErrors.unknownUrl)
      const asset = await findThumbnailAsset(context.db, videoId)
      return asset && { ...asset, sheet: Number(sheet) }
    },
    load: (asset) => loadSheet(context, asset),
    render: (content: Content) => content,
  })
}

/** The URL works from the creation of the video on: until there is a thumbnail, it shows a placeholder. */
async function loadThumbnail(
  { files }: Context,
  { thumbnailKey: key }: ThumbnailAsset,
  placeholder: Buffer,
): Promise<Content> {
  const found = key === null ? undefined : await files.stat(key)
  if (key === null || !found) return inMemory(placeholder, 'image/jpeg', 'no-store')
  return inFile({ key, size: found.size }, 'image/jpeg', cacheOneMinute)
}

function loadSprites({ sprites, plan }: ThumbnailAsset) {
  if (!sprites || !plan) throw notFound('videoId')
  return { sprites, plan }
}

async function loadSheet(
  { files }: Context,
  { spritesKey, sheet }: ThumbnailAsset & { sheet: number },
): Promise<Content> {
  if (spritesKey === null) throw notFound('file')
  const key = spriteSheetFile(spritesKey, sheet)
  const found = await files.stat(key)
  if (!found) throw notFound('file')
  return inFile({ key, size: found.size }, 'image/jpeg', cacheForever)
}
