import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { mkdtemp, open, readdir, readFile, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { authorization, key, median, startServer, stopServer } from './servers.ts'

const MiB = 1024 * 1024
const fileBytes = 1024 * MiB
const chunkBytes = 50 * MiB
const atOnce = 4

type Piece = { from: number; to: number }

/** Sends part of the file, as a raw body or as a form, and waits for the answer. */
async function send(url: string, path: string, piece: Piece, form: boolean, headers: Record<string, string>) {
  const boundary = `kinora${randomBytes(12).toString('hex')}`
  const head = form
    ? `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="film.mp4"\r\ncontent-type: application/octet-stream\r\n\r\n`
    : ''
  const tail = form ? `\r\n--${boundary}--\r\n` : ''
  const length = piece.to - piece.from + 1 + head.length + tail.length
  const outgoing = request(url, {
    method: 'POST',
    headers: {
      ...headers,
      'content-length': length,
      ...(form && { 'content-type': `multipart/form-data; boundary=${boundary}` }),
    },
  })
  const answered = once(outgoing, 'response')
  outgoing.write(head)
  const file = createReadStream(path, { start: piece.from, end: piece.to, highWaterMark: MiB })
  await pipeline(file, outgoing, { end: false })
  outgoing.end(tail)
  const [response] = await answered
  for await (const _ of response);
  if (response.statusCode >= 300) throw new Error(`answered ${response.statusCode}`)
}

const whole: Piece = { from: 0, to: fileBytes - 1 }

function chunks(): Piece[] {
  const count = Math.ceil(fileBytes / chunkBytes)
  return Array.from({ length: count }, (_, i) => ({
    from: i * chunkBytes,
    to: Math.min(fileBytes, (i + 1) * chunkBytes) - 1,
  }))
}

async function seconds(work: () => Promise<void>): Promise<number> {
  const start = performance.now()
  await work()
  return (performance.now() - start) / 1000
}

async function createVideo(url: string): Promise<string> {
  const response = await fetch(`${url}/videos`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: '{}',
  })
  const { videoId } = (await response.json()) as { videoId: string }
  return videoId
}

const forget = (url: string, videoId: string) =>
  fetch(`${url}/videos/${videoId}`, { method: 'DELETE', headers: { authorization } })

export async function upload(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'kinora-bench-'))
  const path = join(folder, 'film.mp4')
  const file = await open(path, 'w')
  for (let written = 0; written < fileBytes; written += 64 * MiB) await file.write(randomBytes(64 * MiB))
  await file.sync()
  await file.close()

  const kinora = await startServer('server/main.ts', {
    KINORA_DATA_DIR: folder,
    KINORA_PORT: '0',
    KINORA_PRODUCTION_KEY: key,
    KINORA_LOG_LEVEL: 'warn',
  })
  const bare = await startServer('bench/bare-upload.ts', { BARE_FOLDER: folder })

  const times = { bare: [] as number[], whole: [] as number[], chunks: [] as number[] }
  try {
    for (let round = 0; round < 4; round++) {
      const bareTime = await seconds(() => send(bare.url, path, whole, false, {}))
      for (const name of await readdir(folder)) if (name.startsWith('upload-')) await rm(join(folder, name))

      const first = await createVideo(kinora.url)
      const wholeTime = await seconds(() =>
        send(`${kinora.url}/videos/${first}/source`, path, whole, true, { authorization }),
      )
      await forget(kinora.url, first)

      const second = await createVideo(kinora.url)
      const next = chunks()[Symbol.iterator]()
      const chunksTime = await seconds(async () => {
        const work = async () => {
          for (const piece of next) {
            const range = `bytes ${piece.from}-${piece.to}/${fileBytes}`
            const headers = { authorization, 'content-range': range }
            await send(`${kinora.url}/videos/${second}/source`, path, piece, true, headers)
          }
        }
        await Promise.all(Array.from({ length: atOnce }, work))
      })
      await forget(kinora.url, second)
      // The first round warms up.
      if (round === 0) continue
      times.bare.push(bareTime)
      times.whole.push(wholeTime)
      times.chunks.push(chunksTime)
    }
    const status = await readFile(`/proc/${kinora.child.pid}/status`, 'utf8')
    const peakMiB = Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024)
    for (const [name, list] of [
      ['whole', times.whole],
      ['50 MiB chunks, 4 at once', times.chunks],
    ] as const) {
      const ratio = median(list.map((time, i) => times.bare[i]! / time))
      const rate = Math.round(fileBytes / MiB / median(list))
      const bareRate = Math.round(fileBytes / MiB / median(times.bare))
      console.log(
        `1 GiB ${name.padEnd(26)} ${rate} MiB/s  bare ${bareRate} MiB/s  ratio ${ratio.toFixed(2)}  goal at least 0.7  ${ratio >= 0.7 ? 'reached' : 'MISSED'}`,
      )
    }
    console.log(`peak memory of the service: ${peakMiB} MiB`)
  } finally {
    await stopServer(kinora)
    await stopServer(bare)
    await rm(folder, { recursive: true, force: true })
  }
}
