import { accessErrors } from '../access/errors.ts'
import type { Context } from '../context.ts'
import { ApiError, httpErrors, invalid, notFound, unauthenticated } from '../lib/errors.ts'
import { exampleId } from '../lib/fields.ts'
import { type App, oneOf, text } from '../lib/http.ts'
import { isId } from '../lib/ids.ts'
import { Type } from '../lib/schema.ts'
import { fit } from '../media/images.ts'
import { iframeOf, playerSize } from '../videos/iframe.ts'
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
  title: Type.String({ description: 'Title of the video, or `Video`.', examples: ['My first video'] }),
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
        summary: 'Show how to embed a video by the URL of its player',
        description:
          'Implements oEmbed for public videos, without an API key. The player has the aspect ratio of the video and is as large as the limits allow.',
        security: [],
        querystring: Type.Object({
          url: text(2_048, {
            description: 'URL of the player: `assets.player` of the video.',
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
      const { db } = context
      const publicUrl = context.publicUrl()
      const { videoId, options } = readPlayerUrl(query.url, publicUrl)
      const row = await findPage(db, videoId)
      if (!row) throw notFound('url')
      if (!row.public) throw unauthenticated(accessErrors.privateVideoEmbed)
      const scaled = scale(playerSize(row), query.maxwidth, query.maxheight)
      const thumbnail = fit(playerSize({ ...row, panoramic: false }), { width: 1280, height: 1280 })
      const src = `${publicUrl}${videoPath(videoId)}${options}`
      const title = row.title || 'Video'
      return {
        type: 'video',
        version: '1.0',
        title,
        provider_name: 'Kinora',
        provider_url: publicUrl,
        html: iframeOf({ src, title, size: scaled, isFixed: true }),
        ...scaled,
        ...(row.hasThumbnail && {
          thumbnail_url: `${publicUrl}${videoPath(videoId)}/thumbnail.jpg`,
          thumbnail_width: thumbnail.width,
          thumbnail_height: thumbnail.height,
        }),
      }
    },
  )
}

/** Query and fragment, such as `#t=30`, are options of the player. */
function readPlayerUrl(text: string, publicUrl: string): { videoId: string; options: string } {
  const url = URL.parse(text)
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    const title = '"url" must be the URL of a player.'
    throw invalid([{ kind: httpErrors.invalidQueryParameter, title, name: 'url' }])
  }
  const [, videoId = ''] = /^\/vod\/([^/]+)\/?$/.exec(url.pathname) ?? []
  if (url.host !== new URL(publicUrl).host || !isId('vi', videoId)) throw notFound('url')
  return { videoId, options: url.search + url.hash }
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
