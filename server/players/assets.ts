import { hash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, httpErrors } from '../lib/errors.ts'
import type { App } from '../lib/http.ts'
import type { Log } from '../lib/log.ts'

const builtFolder = fileURLToPath(new URL('../../web/player/dist', import.meta.url))

const types: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.map': 'application/json',
  '.json': 'application/json',
  '.woff2': 'font/woff2',
  '.wasm': 'application/wasm',
}

const encodings = { br: '.br', gzip: '.gz' } as const
type Encoding = keyof typeof encodings

type Asset = { type: string; etag: string; body: Buffer; encoded: Partial<Record<Encoding, Buffer>> }

/** The script of the page, and the files that it brings along. */
export type Entry = { script: string; styles: string[]; imports: string[] }

export type PlayerAssets = {
  files: Map<string, Asset>
  /** Undefined when the player has not been built. */
  entry: Entry | undefined
}

type Chunk = {
  file: string
  isEntry?: boolean
  css?: string[]
  imports?: string[]
  /** Loaded when they are needed; those of the entry always are. */
  dynamicImports?: string[]
}

/** Everything that was built, into memory: some hundred kilobytes that every viewer asks for. */
export async function loadAssets(log: Log, folder = builtFolder): Promise<PlayerAssets> {
  const files = new Map<string, Asset>()
  try {
    const manifest: Record<string, Chunk> = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8'))
    const names = await readdir(folder, { recursive: true })
    for (const name of names.filter(isServed)) {
      const body = await readFile(join(folder, name))
      const encoded: Asset['encoded'] = {}
      for (const [encoding, suffix] of Object.entries(encodings))
        if (names.includes(name + suffix))
          encoded[encoding as Encoding] = await readFile(join(folder, name + suffix))
      const etag = hash('sha256', body, 'base64url').slice(0, 22)
      files.set(name, { type: types[extname(name)]!, etag, body, encoded })
    }
    return { files, entry: findEntry(manifest) }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    log.warn('the player is not built, so its pages stay empty: npm start builds it')
    return { files: new Map(), entry: undefined }
  }
}

const isServed = (name: string) => extname(name) in types && name !== 'manifest.json'

function findEntry(manifest: Record<string, Chunk>): Entry | undefined {
  const entry = Object.values(manifest).find(({ isEntry }) => isEntry)
  if (!entry) return undefined
  const later = (entry.dynamicImports ?? []).map((name) => manifest[name]).filter((chunk) => !!chunk)
  const chunks = new Set([entry, ...later])
  // Grows while it is gone through: what is imported imports in turn.
  for (const chunk of chunks)
    for (const name of chunk.imports ?? []) if (manifest[name]) chunks.add(manifest[name])
  const path = (file: string) => `/player/${file}`
  return {
    script: path(entry.file),
    styles: [...new Set([...chunks].flatMap(({ css }) => css ?? []))].map(path),
    imports: [...chunks].filter((chunk) => chunk !== entry).map(({ file }) => path(file)),
  }
}

export function assetRoutes(app: App, { files }: PlayerAssets): void {
  const schema = { hide: true }
  app.get('/player/*', { schema }, (request: FastifyRequest, reply: FastifyReply) => {
    // Only what was read at the start is there, whatever the path is made of.
    const asset = files.get((request.params as { '*': string })['*'])
    if (!asset) throw new ApiError(httpErrors.unknownUrl)
    const encoding = chooseEncoding(asset, request.headers['accept-encoding'])
    const etag = `"${asset.etag}${encoding ? `-${encoding}` : ''}"`
    reply.headers({
      etag,
      // The names are of the content.
      'cache-control': 'public, max-age=31536000, immutable',
      'cross-origin-resource-policy': 'cross-origin',
      'x-content-type-options': 'nosniff',
      vary: 'accept-encoding',
    })
    const known = request.headers['if-none-match']
    if (known?.split(',').some((each) => each.trim().replace(/^W\//, '') === etag))
      return reply.code(304).send()
    if (encoding) reply.header('content-encoding', encoding)
    return reply.type(asset.type).send((encoding && asset.encoded[encoding]) ?? asset.body)
  })
}

/** The smallest of those that the client takes. */
export function chooseEncoding(
  { encoded }: Pick<Asset, 'encoded'>,
  accepted: string | undefined,
): Encoding | undefined {
  const weights = new Map<string, number>()
  for (const each of (accepted ?? '').toLowerCase().split(',')) {
    const [name = '', ...parameters] = each.split(';').map((word) => word.trim())
    const weight = parameters.find((word) => word.startsWith('q='))?.slice(2)
    weights.set(name, weight === undefined ? 1 : Number(weight) || 0)
  }
  const isTaken = (name: string) => (weights.get(name) ?? weights.get('*') ?? 0) > 0
  return (Object.keys(encodings) as Encoding[]).find((name) => encoded[name] && isTaken(name))
}
