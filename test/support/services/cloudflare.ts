import {
  type Exchange,
  type ServiceServer,
  sendFileContent,
  sendJson,
  startService,
} from './service-server.ts'

// Stands in for Cloudflare Stream: videos, downloads, captions and tokens, as its API reference describes them.

export const streamAccount = { location: '023e105f4ecef8ad9ca31a8372d0c353', key: 'cloudflare-token' }

type StreamVideo = Record<string, unknown> & { uid: string; created: string }

type Options = { videos: StreamVideo[]; file: Buffer; captions?: Record<string, string[]>; pageSize?: number }

const image = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

export async function startCloudflare({
  videos,
  file,
  captions = {},
  pageSize = 2,
}: Options): Promise<ServiceServer> {
  const downloads = new Map<string, number>()
  const tokens = new Map<string, string>()
  let files = 0

  const answer = (exchange: Exchange, result: unknown) =>
    sendJson(exchange, 200, { success: true, errors: [], messages: [], result })
  const refuse = (exchange: Exchange, status: number, headers = {}) =>
    sendJson(exchange, status, { success: false, errors: [{ code: 10000, message: 'Refused' }] }, headers)

  const list = (exchange: Exchange) => {
    const after = Date.parse(exchange.url.searchParams.get('after') ?? '1970-01-01T00:00:00Z')
    const later = videos.filter(({ created }) => Date.parse(created) > after)
    answer(exchange, later.toSorted((a, b) => a.created.localeCompare(b.created)).slice(0, pageSize))
  }
  const show = ({ ...video }: StreamVideo) => ({
    ...video,
    thumbnail: `${service.url}/${video.uid}/thumbnails/thumbnail.jpg`,
  })
  const showDownloads = (exchange: Exchange, uid: string) => {
    const reads = downloads.get(uid)
    if (reads === undefined) return answer(exchange, {})
    downloads.set(uid, reads + 1)
    const status = reads > 1 ? 'ready' : 'inprogress'
    const url = `${service.url}/${uid}/downloads/default.mp4`
    answer(exchange, { default: { status, url, percentComplete: reads * 50 } })
  }
  const sendApi = (exchange: Exchange, uid: string | undefined, action: string | undefined) => {
    const { method, request, body, response } = exchange
    if (request.headers.authorization !== `Bearer ${streamAccount.key}`) return refuse(exchange, 403)
    // One overload and one failure.
    if (service.requests.length === 3) return refuse(exchange, 429, { 'retry-after': '1' })
    if (service.requests.length === 6) return void response.writeHead(503).end('unavailable')
    if (uid === undefined) return list(exchange)
    const video = videos.find((each) => each.uid === uid)
    if (!video) return refuse(exchange, 404)
    if (action === undefined) return answer(exchange, show(video))
    if (action === 'captions')
      return answer(
        exchange,
        (captions[uid] ?? []).map((language) => ({ language })),
      )
    if (action.endsWith('/vtt')) return void response.end('WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n')
    if (action === 'downloads' && method === 'POST') {
      downloads.set(uid, 0)
      return answer(exchange, { default: { status: 'inprogress', percentComplete: 0 } })
    }
    if (action === 'downloads') return showDownloads(exchange, uid)
    if (action === 'token' && body.downloadable === true) {
      const token = `token${tokens.size}.x.y`
      tokens.set(token, uid)
      return answer(exchange, { token })
    }
    refuse(exchange, 404)
  }
  /** Files of a video that requires tokens have a token instead of the id. */
  const sendFile = (exchange: Exchange, name: string, isDownload: boolean) => {
    const video = videos.find(({ uid }) => uid === (tokens.get(name) ?? name))
    const isOpen = video && (video.requireSignedURLs !== true || tokens.has(name))
    if (!isOpen) return void exchange.response.writeHead(401).end()
    if (!isDownload) return void exchange.response.end(image)
    // Every second connection drops.
    sendFileContent(exchange, file, { isCut: files++ % 2 === 0 })
  }
  const service = await startService((exchange) => {
    const { path } = exchange
    const [isApi, uid, action] =
      /^\/client\/v4\/accounts\/023e105f4ecef8ad9ca31a8372d0c353\/stream(?:\/([^/]+)(?:\/(.+))?)?$/.exec(
        path,
      ) ?? []
    if (isApi) return sendApi(exchange, uid, action)
    const [, name, kind] =
      /^\/([^/]+)\/(downloads\/default\.mp4|thumbnails\/thumbnail\.jpg)$/.exec(path) ?? []
    if (name) return sendFile(exchange, name, kind === 'downloads/default.mp4')
    exchange.response.writeHead(404).end()
  })
  return service
}
