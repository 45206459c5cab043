import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { segmentFile } from '../../server/videos/files.ts'
import type { Operation } from './compare.ts'
import { segmentBytes, segmentRowKey } from './fill-encodings.ts'
import { get, sampleVideo } from './requests.ts'
import { fileOf, type Side } from './side.ts'

const quality = '720p'

async function writeSegment(side: Side, n: number): Promise<void> {
  const path = fileOf(side, segmentFile(segmentRowKey(sampleVideo(side, n), quality), 0))
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, Buffer.alloc(segmentBytes))
}

/** Each request is the first for its video, so that no cache helps. */
const hls = (file: string) => (side: Side, n: number) => get(side, `/vod/${sampleVideo(side, n)}/hls/${file}`)

const startedAt = new WeakMap<Side, string[]>()

async function report(side: Side, n: number, isNew: boolean): Promise<void> {
  const sessions = startedAt.get(side) ?? []
  startedAt.set(side, sessions)
  if (isNew) sessions.unshift(new Date(Date.now() - n).toISOString())
  const now = new Date().toISOString()
  const body = {
    emitted_at: now,
    session: { loaded_at: sessions[0], referrer: 'https://shop.example/', video_id: sampleVideo(side, 0) },
    events: [{ type: 'progress', emitted_at: now, at: n }],
  }
  const response = await fetch(`${side.url}/collector/vod`, { method: 'POST', body: JSON.stringify(body) })
  if (!response.ok) throw new Error(await response.text())
}

export const playback: Operation[] = [
  { measured: 'player page of a video', run: (side, n) => get(side, `/vod/${sampleVideo(side, n)}`) },
  { measured: 'master playlist', run: hls('manifest.m3u8') },
  { measured: 'playlist of a quality', run: hls(`${quality}/manifest.m3u8`) },
  { measured: 'segment', prepare: writeSegment, run: hls(`${quality}/video-0.m4s`) },
  { measured: 'report of a new viewing session', run: (side, n) => report(side, n, true) },
  { measured: 'report of a session that continues', run: (side, n) => report(side, n, false) },
]
