import { accessErrors } from '../access/errors.ts'
import type { Context } from '../context.ts'
import type { Db } from '../lib/db.ts'
import { ApiError, httpErrors, invalid, notFound, unauthenticated } from '../lib/errors.ts'
import { exampleId } from '../lib/fields.ts'
import { type App, oneOf, text } from '../lib/http.ts'
import { isId } from '../lib/ids.ts'
import { Type } from '../lib/schema.ts'
import { livePath } from '../live-streams/paths.ts'
import { findLivePreview } from '../live-streams/store.ts'
import { readImageSize } from '../media/image-size.ts'
import { fit, type Size } from '../media/images.ts'
import type { Tables } from '../tables.ts'
import { defaultSize, iframeOf, playerSize } from '../videos/iframe.ts'
import { videoPath } from '../videos/paths.ts'
import { playersErrors } from './errors.ts'
import { findPage } from './store.ts'

/** The longer side of a player without limits. */
const defaultSide = 1280

const limit = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000, description, examples: [640] }))

const player = `https://video.example.com/vod/${exampleId('vi')}`

const OEmbed = Type.Object({
  type: Type.String({ description: '`video`.', examples: ['video'] }),
  version: Type.String({ description: '`1.0`.', examples: ['1.0'] }),
  title: Type.String({
    description: 'Title of the video, or `Video`. Name of the live stream.',
    examples: ['My first video'],
  }),
  provider_name: Type.String({ description: '`Kinora`.', examples: ['Kinora'] }),
  provider_url: Type.String({ description: 'URL of the service.', examples: ['https://video.example.com'] }),
  html: Type.String({
    description: 'The player, as an iframe.',
    examples: [`<iframe src="${player}" width="640" height="360"></iframe>`],
  }),
  width: Type.Integer({ description: 'Width of the player in pixels.', examples: [640] }),
  height: Type.Integer({ description: 'Height of the player in pixels.', examples: [360] }),
  thumbnail_url: Type.Optional(
    Type.String({
      description: 'URL of the thumbnail. Absent until it exists.',
      examples: [`${player}/thumbnail.jpg`],
    }),
  ),
  thumbnail_width: Type.Optional(
    Type.Integer({ description: 'Width of the thumbnail in pixels.', examples: [1280] }),
  ),
  thumbnail_height: Type.Optional(
    Type.Integer({ description: 'Height of the thumbnail in pixels.', examples: [720] }),
  ),
})

/** According to oEmbed 1.0 (oembed.com), including status codes. */
export function oembedRoute(app: App, context: Context): void {
  app.get(
    '/oembed',
    {
      // The URL of a player may contain a token.
      config: { secrets: ['url'] },
      schema: {
        operationId: 'GET_oembed',
        tags: ['Player themes'],
        summary: 'Show how to embed a video or live stream by the URL of its player',
        description:
          'Implements oEmbed for public videos and live streams, without an API key. The player has the aspect ratio of the video, or 16:9 for a live stream, and is as large as the limits allow.',
        security: [],
        querystring: Type.Object({
          url: text(2_048, {
            description: 'URL of the player: `assets.player` of the video or live stream.',
            examples: [player],
          }),
          maxwidth: limit('Maximum width of the player in pixels.'),
          maxheight: limit('Maximum height of the player in pixels.'),
          format: Type.Optional(
            oneOf(['json', 'xml'], { description: '`xml` is not supported (501).', examples: ['json'] }),
          ),
        }),
        response: { 200: OEmbed },
      },
    },
    async ({ query }) => {
      if (query.format === 'xml') throw new ApiError(playersErrors.formatNotImplemented, { name: 'format' })
      const publicUrl = context.publicUrl()
      const { id, options } = readPlayerUrl(query.url, publicUrl)
      const media = await findMedia(context.db, id)
      if (!media) throw notFound('url')
      if (!media.isPublic) throw unauthenticated(accessErrors.privateVideoEmbed)
      const { title, thumbnail } = media
      const player = publicUrl + media.path
      const scaled = scale(media.size, query.maxwidth, query.maxheight)
      return {
        type: 'video',
        version: '1.0',
        title,
        provider_name: 'Kinora',
        provider_url: publicUrl,
        html: iframeOf({ src: player + options, title, size: scaled, isFixed: true }),
        ...scaled,
        ...(thumbnail && {
          thumbnail_url: `${player}/thumbnail.jpg`,
          thumbnail_width: thumbnail.width,
          thumbnail_height: thumbnail.height,
        }),
      }
    },
  )
}

/** What oEmbed tells about a video or a live stream. */
type EmbeddedMedia = {
  path: string
  title: string
  isPublic: boolean
  size: Size
  thumbnail: Size | undefined
}

async function findMedia(db: Db<Tables>, id: string): Promise<EmbeddedMedia | undefined> {
  if (isId('li', id)) {
    const row = await findLivePreview(db, id)
    return (
      row && {
        path: livePath(id),
        title: row.name,
        isPublic: row.public,
        size: defaultSize,
        thumbnail: row.thumbnailStart ? readImageSize(row.thumbnailStart) : undefined,
      }
    )
  }
  const row = await findPage(db, id)
  const thumbnail = row && fit(playerSize({ ...row, panoramic: false }), { width: 1280, height: 1280 })
  return (
    row && {
      path: videoPath(id),
      title: row.title || 'Video',
      isPublic: row.public,
      size: playerSize(row),
      thumbnail: row.hasThumbnail ? thumbnail : undefined,
    }
  )
}

/** Query and fragment, such as `#t=30`, are options of the player. */
function readPlayerUrl(text: string, publicUrl: string): { id: string; options: string } {
  const url = URL.parse(text)
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    const title = '"url" must be the URL of a player.'
    throw invalid([{ kind: httpErrors.invalidQueryParameter, title, name: 'url' }])
  }
  const [, kind, id = ''] = /^\/(vod|live)\/([^/]+)\/?$/.exec(url.pathname) ?? []
  if (url.host !== new URL(publicUrl).host || !isId(kind === 'live' ? 'li' : 'vi', id)) throw notFound('url')
  return { id, options: url.search + url.hash }
}

function scale(
  { width, height }: { width: number; height: number },
  maxWidth = defaultSide,
  maxHeight = defaultSide,
): { width: number; height: number } {
  const factor = Math.min(maxWidth / width, maxHeight / height)
  const side = (length: number) => Math.max(1, Math.round(length * factor))
  return { width: side(width), height: side(height) }
}
