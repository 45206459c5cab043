import type { KeyObject } from 'node:crypto'
import { jwtVerify } from 'jose'
import {
  type Exchange,
  type ServiceServer,
  sendFileContent,
  sendJson,
  startService,
} from './service-server.ts'

// Stands in for Mux: assets, masters, static renditions and captions, as its API reference describes them.

export const muxToken = { key: 'mux-token-id', secret: 'mux-token-secret' }

type MuxAsset = Record<string, unknown> & { id: string }

type Options = {
  assets: MuxAsset[]
  file: Buffer
  /** Refused with 400: assets without a master. */
  withoutMaster?: string[]
  /** Verifies the tokens of the playback id `secret`. */
  publicKey?: KeyObject
  pageSize?: number
}

type Master = { reads: number; url: string; uses: number; hasExpired: boolean }

export async function startMux({
  assets,
  file,
  withoutMaster = [],
  publicKey,
  pageSize = 2,
}: Options): Promise<ServiceServer & { expireMasters(): void; keepPreparing(): void }> {
  const authorization = `Basic ${btoa(`${muxToken.key}:${muxToken.secret}`)}`
  const masters = new Map<string, Master>()
  let links = 0
  let isPreparing = false

  const list = (exchange: Exchange) => {
    const { searchParams } = exchange.url
    const from = Number((searchParams.get('cursor') ?? 'c0').slice(1))
    const size = Math.min(pageSize, Number(searchParams.get('limit')))
    const next = from + size < assets.length ? `c${from + size}` : null
    sendJson(exchange, 200, { data: assets.slice(from, from + size).map(show), next_cursor: next })
  }
  const show = (asset: MuxAsset) => {
    const master = masters.get(asset.id)
    if (!master) return { ...asset, master_access: 'none' }
    const isReady = ++master.reads > 2 && !isPreparing
    const shown = isReady ? { status: 'ready', url: master.url } : { status: 'preparing' }
    return { ...asset, master_access: 'temporary', master: shown }
  }
  const requestMaster = (exchange: Exchange, asset: MuxAsset) => {
    if (withoutMaster.includes(asset.id))
      return sendJson(exchange, 400, { error: { type: 'invalid_parameters', messages: ['No master'] } })
    links++
    const url = `${service.url}/masters/${asset.id}?link=${links}`
    masters.set(asset.id, { reads: 0, url, uses: 0, hasExpired: false })
    sendJson(exchange, 200, { data: show(asset) })
  }
  const sendMaster = (exchange: Exchange, id: string) => {
    const master = masters.get(id)
    if (master?.url !== exchange.url.href || master.hasExpired)
      return void exchange.response.writeHead(403).end()
    // The first connection drops.
    sendFileContent(exchange, file, { isCut: master.uses++ === 0 })
  }
  const sendApi = (exchange: Exchange) => {
    const { method, path, request } = exchange
    if (request.headers.authorization !== authorization)
      return sendJson(exchange, 401, { error: { type: 'unauthorized' } })
    // One overload and one failure.
    if (service.requests.length === 2) return sendJson(exchange, 429, {}, { 'retry-after': '1' })
    if (service.requests.length === 4) return void exchange.response.writeHead(502).end()
    if (path === '/video/v1/assets') return list(exchange)
    const [, id, action] = /^\/video\/v1\/assets\/([^/]+)(?:\/(.+))?$/.exec(path) ?? []
    const asset = assets.find((each) => each.id === id)
    if (!asset) return sendJson(exchange, 404, { error: { type: 'not_found' } })
    if (method === 'PUT' && action === 'master-access') return requestMaster(exchange, asset)
    if (method === 'POST' && action === 'static-renditions') {
      const rendition = { name: 'highest.mp4', ext: 'mp4', height: 48, status: 'ready' }
      asset.static_renditions = { files: [rendition] }
      return sendJson(exchange, 201, { data: { ...rendition, status: 'preparing' } })
    }
    sendJson(exchange, 200, { data: show(asset) })
  }
  const isSigned = async ({ url }: Exchange) =>
    publicKey !== undefined &&
    jwtVerify(url.searchParams.get('token') ?? '', publicKey, { audience: 'v', subject: 'secret' })
      .then(({ protectedHeader }) => protectedHeader.kid === 'key-id')
      .catch(() => false)
  const sendPlayback = async (exchange: Exchange) => {
    const { path, response } = exchange
    if (path.startsWith('/secret/') && !(await isSigned(exchange))) return void response.writeHead(403).end()
    if (path.endsWith('/highest.mp4')) return sendFileContent(exchange, file)
    if (path.endsWith('.vtt')) return void response.end('WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n')
    response.writeHead(404).end()
  }
  const service = await startService((exchange) => {
    const { path } = exchange
    const [, id = ''] = /^\/masters\/(\w+)$/.exec(path) ?? []
    if (id) return sendMaster(exchange, id)
    if (path.startsWith('/video/')) return sendApi(exchange)
    void sendPlayback(exchange)
  })
  return {
    ...service,
    /** As after 24 hours, although the asset still shows them. */
    expireMasters() {
      for (const master of masters.values()) master.hasExpired = true
    },
    keepPreparing() {
      isPreparing = true
    },
  }
}
