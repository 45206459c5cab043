import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Answer } from '../client.ts'
import type { LoadContext } from './load.ts'

const pauseMs = 300

/** The hash of what each URL of a segment has returned. It must never return anything else. */
const published = new Map<string, string>()

/** Plays encoded videos and live streams like a player, and checks each answer. */
export async function watch(context: LoadContext, liveStreamIds: string[]): Promise<void> {
  const { random, stopping } = context
  while (!stopping.aborted) {
    await delay(pauseMs)
    if (random.next() < 0.5) await watchLive(context, random.pick(liveStreamIds))
    else await watchVideo(context)
  }
}

async function watchVideo(context: LoadContext): Promise<void> {
  const { ledger, random } = context
  const kept = [...ledger.videos].filter(([, { state, way }]) => state === 'kept' && way !== 'chunks')
  if (kept.length === 0) return
  const [videoId] = random.pick(kept)
  const folder = `/vod/${videoId}/hls`
  const master = await get(context, `${folder}/manifest.m3u8`)
  if (!master) return
  for (const path of uris(master.text)) await watchPlaylist(context, `${folder}/${path}`)
}

async function watchLive(context: LoadContext, liveStreamId: string): Promise<void> {
  const master = await get(context, `/live/${liveStreamId}.m3u8`)
  if (!master) return
  for (const path of uris(master.text)) await watchPlaylist(context, `/live/${path}`)
}

async function watchPlaylist(context: LoadContext, path: string): Promise<void> {
  const playlist = await get(context, path)
  if (!playlist) return
  if (!playlist.text.startsWith('#EXTM3U')) context.ledger.report(`${path} is not a playlist`)
  const folder = path.slice(0, path.lastIndexOf('/'))
  const names = uris(playlist.text)
  // The newest ones, which are written at this moment, and one of the others.
  const chosen = [...names.slice(-3), ...(names.length > 3 ? [context.random.pick(names)] : [])]
  for (const name of chosen) {
    const url = `${folder}/${name.split('?')[0]}`
    const segment = await get(context, url)
    if (!segment) continue
    const hash = createHash('sha256').update(segment.bytes).digest('hex')
    const before = published.get(url)
    if (before !== undefined && before !== hash) context.ledger.report(`${url} has changed`)
    published.set(url, hash)
  }
}

const uris = (playlist: string) => playlist.split('\n').filter((line) => line && !line.startsWith('#'))

/** What a player may get: the file, or an answer that it repeats later. Undefined if there is no file yet. */
async function get({ client, ledger }: LoadContext, path: string): Promise<Answer | undefined> {
  const answer = await client.attempt(path, { key: '' })
  if (!answer) return undefined
  if (answer.status === 200) return answer
  if (![202, 404, 500, 503].includes(answer.status)) ledger.report(`GET ${path} got ${answer.status}`)
  return undefined
}
