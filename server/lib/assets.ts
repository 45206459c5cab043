import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { parseWeights } from './accept.ts'
import { matchesEtag } from './etag.ts'

const types: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.map': 'application/json',
  '.json': 'application/json',
  '.woff2': 'font/woff2',
  '.wasm': 'application/wasm',
  // Browsers show it, while they would download text/markdown.
  '.md': 'text/plain; charset=utf-8',
}

const encodings = { br: '.br', gzip: '.gz' } as const
type Encoding = keyof typeof encodings

export type Asset = {
  type: string
  etag: string
  body: Buffer
  encoded: Partial<Record<Encoding, Buffer>>
}

const cacheForever = 'public, max-age=31536000, immutable'
/** Clients keep the file, and ask whether it has changed. */
export const revalidate = 'no-cache'

/** For the files of a build: names contain a hash of the content, except that of the licenses. */
export const cacheControlOf = (name: string) => (name.endsWith('.md') ? revalidate : cacheForever)

/**
 * Loads the files of a build into memory, with their compressed versions. Not by `@fastify/static`, which would call stat
 * for every request. Reads synchronously, which takes a third of the CPU time: this is a part of every start. Throws ENOENT
 * if the folder does not exist.
 */
export async function loadAssets(folder: string): Promise<Map<string, Asset>> {
  const assets = new Map<string, Asset>()
  const names = await readdir(folder, { recursive: true })
  for (const name of names.filter(isServed)) {
    const body = readFileSync(join(folder, name))
    const encoded: Asset['encoded'] = {}
    for (const [encoding, suffix] of Object.entries(encodings))
      if (names.includes(name + suffix))
        encoded[encoding as Encoding] = readFileSync(join(folder, name + suffix))
    assets.set(name, { type: types[extname(name)]!, etag: hashOf(body), body, encoded })
  }
  return assets
}

const isServed = (name: string) => extname(name) in types && basename(name) !== 'manifest.json'

const hashOf = (body: Buffer) => hash('sha256', body, 'base64url').slice(0, 22)

/** Makes an asset from a text that the service has rendered. */
export async function textAsset(type: string, text: string): Promise<Asset> {
  const body = Buffer.from(text)
  // A higher quality takes seconds for a long text.
  const params = { [constants.BROTLI_PARAM_QUALITY]: 6 }
  const [br, gz] = await Promise.all([promisify(brotliCompress)(body, { params }), promisify(gzip)(body)])
  return { type, etag: hashOf(body), body, encoded: { br, gzip: gz } }
}

export function sendAsset(
  request: FastifyRequest,
  reply: FastifyReply,
  asset: Asset,
  cacheControl: string,
): FastifyReply {
  const encoding = chooseEncoding(asset, request.headers['accept-encoding'])
  const etag = `"${asset.etag}${encoding ? `-${encoding}` : ''}"`
  reply.headers({
    etag,
    'cache-control': cacheControl,
    'x-content-type-options': 'nosniff',
    vary: 'accept-encoding',
  })
  if (matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send()
  if (encoding) reply.header('content-encoding', encoding)
  return reply.type(asset.type).send((encoding && asset.encoded[encoding]) ?? asset.body)
}

/** The smallest encoding that the client accepts. */
export function chooseEncoding(
  { encoded }: Pick<Asset, 'encoded'>,
  accepted: string | undefined,
): Encoding | undefined {
  const weights = new Map(parseWeights(accepted ?? '').map(({ value, weight }) => [value, weight]))
  const isAccepted = (name: string) => (weights.get(name) ?? weights.get('*') ?? 0) > 0
  return (Object.keys(encodings) as Encoding[]).find((name) => encoded[name] && isAccepted(name))
}
