import { setTimeout as delay } from 'node:timers/promises'
import { percentile, Resources, withTemporaryFolder } from '../servers.ts'
import { atMost, type Row } from '../table.ts'
import { makeClip } from './clip.ts'
import { type LiveService, type LiveStream, startLive, untilFound } from './service.ts'

const rounds = 3
const broadcastMs = 15_000

/** From the request that ends a broadcast until a player can load the playlists and the first segment of the recording. */
export async function recording(): Promise<Row[]> {
  const times: number[] = []
  await withTemporaryFolder(async (folder) => {
    await using resources = new Resources()
    const clip = await makeClip(folder, '720p')
    const service = await startLive(resources, folder)
    for (const stream of await service.createStreams(rounds, { record: true })) {
      const encoders = await service.broadcast([stream], clip)
      await delay(broadcastMs)
      times.push(await endToPlayable(service, stream))
      await encoders.stop()
    }
  })
  const p50 = percentile(times, 0.5)
  const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`
  return [
    {
      measured: `end of a broadcast to a playable recording, p50 and the slowest of ${rounds}`,
      kinora: `${seconds(p50)}, ${seconds(Math.max(...times))}`,
      goal: atMost(3, p50 / 1000, ' s'),
    },
  ]
}

async function endToPlayable(service: LiveService, { liveStreamId }: LiveStream): Promise<number> {
  const endedAt = Date.now()
  await service.call('PUT', `/live-streams/${liveStreamId}/complete`)
  const master = `${service.url}/vod/${await findRecording(service, liveStreamId)}/hls/manifest.m3u8`
  const playlist = await follow(master, await untilFound(master, 20))
  await follow(playlist.url, playlist.text)
  return Date.now() - endedAt
}

/** Loads the first URL of a playlist. */
async function follow(base: string, playlist: string): Promise<{ url: string; text: string }> {
  const path = playlist.split('\n').find((line) => line !== '' && !line.startsWith('#'))
  const url = new URL(path!, base).href
  return { url, text: await untilFound(url, 20) }
}

type Broadcasts = { data: { recordings: { videoId: string | null }[] }[] }

async function findRecording({ call }: LiveService, liveStreamId: string): Promise<string> {
  for (let tries = 0; tries < 3_000; tries++) {
    const { data } = await call<Broadcasts>('GET', `/live-streams/${liveStreamId}/broadcasts`)
    const videoId = data[0]?.recordings[0]?.videoId
    if (videoId) return videoId
    await delay(20)
  }
  throw new Error('there is no recording after a minute')
}
