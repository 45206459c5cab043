import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { authorization, type Resources, type RunningServer, startKinora } from '../servers.ts'
import { type Encoders, startEncoders } from './encoders.ts'

export type LiveStream = { liveStreamId: string; streamKey: string }

/** A service with its own database, and what the benchmarks do with it. */
export type LiveService = RunningServer & {
  call<T>(method: string, path: string, body?: object): Promise<T>
  createStreams(count: number, options?: object): Promise<LiveStream[]>
  /** Starts encoders. Resolves when viewers can watch all of them. */
  broadcast(streams: LiveStream[], clip: string): Promise<Encoders>
}

export async function startLive(
  resources: Resources,
  folder: string,
  env: Record<string, string> = {},
): Promise<LiveService> {
  const server = await resources.server(
    startKinora(join(folder, 'data'), { KINORA_RATE_LIMITS: 'off', ...env }),
  )
  const { url, rtmpPort: port } = server
  async function call<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await fetch(url + path, {
      method,
      headers: { authorization, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    const text = await response.text()
    return (text === '' ? undefined : JSON.parse(text)) as T
  }
  return {
    ...server,
    call,
    async createStreams(count, options = { record: false }) {
      const streams: LiveStream[] = []
      for (let i = 0; i < count; i++)
        streams.push(await call<LiveStream>('POST', '/live-streams', { name: `Bench ${i}`, ...options }))
      return streams
    },
    async broadcast(streams, clip) {
      const encoders = await startEncoders({ port, keys: streams.map(({ streamKey }) => streamKey), clip })
      for (const { liveStreamId } of streams) await untilFound(`${url}/live/${liveStreamId}.m3u8`)
      return encoders
    },
  }
}

/** Polls until there is such a file. */
export async function untilFound(url: string, everyMs = 50): Promise<string> {
  for (let waitedMs = 0; waitedMs < 60_000; waitedMs += everyMs) {
    const response = await fetch(url)
    const text = await response.text()
    // 202 means that there is nothing to play yet.
    if (response.status === 200) return text
    await delay(everyMs)
  }
  throw new Error(`${url} is missing after a minute`)
}

/** The URL of the playlist of a quality, by default the one that is passed through. */
export async function playlistUrl(
  api: string,
  { liveStreamId }: LiveStream,
  quality = 'source',
): Promise<string> {
  const master = `${api}/live/${liveStreamId}.m3u8`
  const path = (await untilFound(master)).split('\n').find((line) => line.includes(`/${quality}/`))
  if (path === undefined) throw new Error(`${master} has no ${quality}`)
  return new URL(path, master).href
}
