import { createWriteStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { withDescendants } from './cpu.ts'
import type { Cost } from './ffmpeg.ts'
import { type Sent, sendFile } from './send-file.ts'
import { authorization, createVideo, type RunningServer } from './servers.ts'

/** All times of the video count from the last byte of its upload. */
export async function createAndUpload(
  url: string,
  path: string,
  payload: object = {},
): Promise<Sent & { videoId: string }> {
  const videoId = await createVideo(url, { mp4Support: true, ...payload })
  return { videoId, ...(await sendFile(`${url}/videos/${videoId}/source`, path)) }
}

export async function deleteVideo(url: string, videoId: string): Promise<void> {
  const headers = { authorization }
  const { status } = await fetch(`${url}/videos/${videoId}`, { method: 'DELETE', headers })
  if (status !== 204) throw new Error(`the response to the deletion was ${status}`)
}

const isEncoder = async (pid: number) =>
  /^ff(mpeg|probe)$/.test((await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).trim())

/** Waits until the service has run no ffmpeg for a second. */
export async function waitUntilIdle({ child }: RunningServer): Promise<void> {
  for (let idle = 0; idle < 10; idle++) {
    const pids = await withDescendants(child.pid!)
    if ((await Promise.all(pids.map(isEncoder))).includes(true)) idle = -1
    await delay(100)
  }
}

type Status = {
  encoding: { playable: boolean; qualities: { type: string; quality: string; status: string }[] }
}

/** CPU seconds of the child processes that have ended. */
export async function childrenCpu(pid: number | undefined): Promise<number> {
  const stats = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = stats.slice(stats.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[13]) + Number(fields[14])) / 100
}

export type KinoraResult = Cost & { videoId: string; playable: number; firstQuality: number }

export async function encodeAsKinora(
  { url, child }: RunningServer,
  path: string,
  payload: object = {},
): Promise<KinoraResult> {
  const cpuBefore = await childrenCpu(child.pid)
  const { videoId, lastByteAt } = await createAndUpload(url, path, payload)
  const since = () => (performance.now() - lastByteAt) / 1000
  let playable: number | undefined
  let firstQuality: number | undefined
  for (;;) {
    if (playable === undefined) {
      const manifest = await fetch(`${url}/vod/${videoId}/hls/manifest.m3u8`)
      if (manifest.status === 200) playable = since()
    }
    const response = await fetch(`${url}/videos/${videoId}/status`, { headers: { authorization } })
    const { qualities } = ((await response.json()) as Status).encoding
    if (qualities.some(({ status }) => status === 'failed')) throw new Error('a quality failed')
    if (qualities.some(({ status }) => status === 'encoded')) firstQuality ??= since()
    if (qualities.length > 0 && qualities.every(({ status }) => status === 'encoded')) break
    // Polling takes CPU time from the encoder, so it slows down once the video is playable.
    await delay(playable === undefined ? 20 : 100)
  }
  const wall = since()
  return {
    videoId,
    wall,
    cpu: (await childrenCpu(child.pid)) - cpuBefore,
    playable: playable ?? wall,
    firstQuality: firstQuality ?? wall,
  }
}

/** Writes all segments of a quality into one file. */
export async function download(url: string, videoId: string, quality: string, path: string): Promise<void> {
  const base = `${url}/vod/${videoId}/hls/${quality}`
  const playlist = await (await fetch(`${base}/manifest.m3u8`)).text()
  const names = playlist.split('\n').filter((line) => line && !line.startsWith('#'))
  async function* all() {
    for (const name of ['init.mp4', ...names])
      yield* Readable.fromWeb((await fetch(`${base}/${name}`)).body as never)
  }
  await pipeline(all, createWriteStream(path))
}
