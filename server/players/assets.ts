import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Asset, cacheControlOf, loadAssets, sendAsset } from '../lib/assets.ts'
import { ApiError, httpErrors } from '../lib/errors.ts'
import type { App } from '../lib/http.ts'
import type { Log } from '../lib/log.ts'

const builtFolder = fileURLToPath(new URL('../../web/player/dist', import.meta.url))

/** The script of the page and the files that it imports. */
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
  /** Loaded on demand, but the page always needs those of the entry. */
  dynamicImports?: string[]
}

/** Loads the built player: some hundred kilobytes that every viewer requests. */
export async function loadPlayer(log: Log, folder = builtFolder): Promise<PlayerAssets> {
  const entry = await loadEntry(folder)
  if (!entry) log.warn('the player has not been built, so player pages are empty; npm start builds it')
  return { files: entry ? await loadAssets(folder) : new Map(), entry }
}

/** The page from which a browser broadcasts, which is built together with the player. */
export const loadStudioEntry = () => loadEntry(join(builtFolder, 'studio'), '/player/studio/')

/** Undefined when the player has not been built. */
export async function loadEntry(folder = builtFolder, base = '/player/'): Promise<Entry | undefined> {
  try {
    const manifest: Record<string, Chunk> = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8'))
    return findEntry(manifest, base)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return undefined
  }
}

function findEntry(manifest: Record<string, Chunk>, base: string): Entry | undefined {
  const entry = Object.values(manifest).find(({ isEntry }) => isEntry)
  if (!entry) return undefined
  const later = (entry.dynamicImports ?? []).map((name) => manifest[name]).filter((chunk) => !!chunk)
  const chunks = new Set([entry, ...later])
  // The set grows during the iteration, so that indirect imports are included.
  for (const chunk of chunks)
    for (const name of chunk.imports ?? []) if (manifest[name]) chunks.add(manifest[name])
  const path = (file: string) => base + file
  return {
    script: path(entry.file),
    styles: [...new Set([...chunks].flatMap(({ css }) => css ?? []))].map(path),
    imports: [...chunks].filter((chunk) => chunk !== entry).map(({ file }) => path(file)),
  }
}

export function assetRoutes(app: App, { files }: PlayerAssets): void {
  const schema = { hide: true }
  app.get('/player/*', { schema }, (request: FastifyRequest, reply: FastifyReply) => {
    // A lookup in memory: no path of a request reaches the disk.
    const name = (request.params as { '*': string })['*']
    const asset = files.get(name)
    if (!asset) throw new ApiError(httpErrors.unknownUrl)
    reply.header('cross-origin-resource-policy', 'cross-origin')
    return sendAsset(request, reply, asset, cacheControlOf(name))
  })
}
