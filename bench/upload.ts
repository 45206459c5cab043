import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { mkdir, mkdtemp, open, readdir, readFile, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import * as tus from 'tus-js-client'
import { authorization, key, median, startServer, stopServer } from './servers.ts'

export const MiB = 1024 * 1024
const fileBytes = 1024 * MiB
const chunkBytes = 50 * MiB
const atOnce = 4
const rounds = 4

/** The file stands for a longer one: what lies behind its end is its beginning again. */
async function* read(path: string, from: number, to: number) {
  for (let at = from; at <= to; ) {
    const start = at % fileBytes
    const end = Math.min(fileBytes - 1, start + to - at)
    yield* createReadStream(path, { start, end, highWaterMark: MiB })
    at += end - start + 1
  }
}

type Piece = { from: number; to: number }

/** Sends part of the file, as a raw body or as a form, and waits for the answer. */
export async function send(
  url: string,
  path: string,
  piece: Piece,
  form: boolean,
  headers: Record<string, string>,
) {
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
  await pipeline(read(path, piece.from, piece.to), outgoing, { end: false })
  outgoing.end(tail)
  const [response] = await answered
  for await (const _ of response);
  if (response.statusCode >= 300) throw new Error(`answered ${response.statusCode}`)
}

function sendByTus(endpoint: string, path: string, headers: Record<string, string>): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const file = createReadStream(path, { highWaterMark: MiB })
  const upload = new tus.Upload(file, { endpoint, headers, onSuccess: () => resolve(), onError: reject })
  upload.start()
  return promise
}

export async function seconds(work: () => Promise<void>): Promise<number> {
  const start = performance.now()
  await work()
  return (performance.now() - start) / 1000
}

export async function createVideo(url: string): Promise<string> {
  const response = await fetch(`${url}/videos`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: '{}',
  })
  const { videoId } = (await response.json()) as { videoId: string }
  return `${url}/videos/${videoId}`
}

export async function sendChunks(
  video: string,
  path: string,
  bytes = fileBytes,
  senders = atOnce,
): Promise<void> {
  let at = 0
  const work = async () => {
    while (at < bytes) {
      const piece = { from: at, to: Math.min(bytes, at + chunkBytes) - 1 }
      at = piece.to + 1
      const range = `bytes ${piece.from}-${piece.to}/${bytes}`
      await send(`${video}/source`, path, piece, true, { authorization, 'content-range': range })
    }
  }
  await Promise.all(Array.from({ length: senders }, work))
}

const memoryMiB = async (pid: number | undefined, field: 'VmRSS' | 'VmHWM') => {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1024)
}

const startKinora = (folder: string) =>
  startServer('server/main.ts', {
    KINORA_DATA_DIR: folder,
    KINORA_PORT: '0',
    KINORA_PRODUCTION_KEY: key,
    KINORA_LOG_LEVEL: 'warn',
  })

/** What one way leaves to be written or removed must not slow down the next: the peers do not all wait for the disk. */
export async function settle(url: string): Promise<void> {
  const listed = await fetch(`${url}/videos`, { headers: { authorization } })
  const { data } = (await listed.json()) as { data: { videoId: string }[] }
  for (const { videoId } of data)
    await fetch(`${url}/videos/${videoId}`, { method: 'DELETE', headers: { authorization } })
  await promisify(execFile)('sync')
}

async function makeFile(path: string): Promise<void> {
  const file = await open(path, 'w')
  for (let written = 0; written < fileBytes; written += 64 * MiB) await file.write(randomBytes(64 * MiB))
  await file.sync()
  await file.close()
}

/** How much the process grows by one upload of 5 GiB, from its size after a small one. */
async function growth(folder: string, path: string): Promise<void> {
  const kinora = await startKinora(folder)
  try {
    const warm = { from: 0, to: 64 * MiB - 1 }
    await send(`${await createVideo(kinora.url)}/source`, path, warm, true, { authorization })
    const before = await memoryMiB(kinora.child.pid, 'VmHWM')
    const video = await createVideo(kinora.url)
    await send(`${video}/source`, path, { from: 0, to: 5 * fileBytes - 1 }, true, { authorization })
    const after = await memoryMiB(kinora.child.pid, 'VmHWM')
    const grown = after - before
    console.log(
      `memory: peak ${before} MiB before a 5 GiB upload, ${after} MiB after it: ${grown} MiB more  goal below 64  ${grown < 64 ? 'reached' : 'MISSED'}`,
    )
  } finally {
    await stopServer(kinora)
  }
}

export async function upload(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'kinora-bench-'))
  const path = join(folder, 'film.mp4')
  await makeFile(path)
  const received = join(folder, 'received')
  await mkdir(received)

  const kinora = await startKinora(join(folder, 'data'))
  const bare = await startServer('bench/bare-upload.ts', { BARE_FOLDER: received })
  const bareTus = await startServer('bench/bare-tus.ts', { BARE_FOLDER: received })
  const durableTus = await startServer('bench/bare-tus.ts', { BARE_FOLDER: received, BARE_SYNC: '1' })
  const all: Piece = { from: 0, to: fileBytes - 1 }

  const ways = {
    bare: () => send(bare.url, path, all, false, {}),
    bareTus: () => sendByTus(`${bareTus.url}/tus`, path, {}),
    durableTus: () => sendByTus(`${durableTus.url}/tus`, path, {}),
    whole: async () => send(`${await createVideo(kinora.url)}/source`, path, all, true, { authorization }),
    chunks: async () => sendChunks(await createVideo(kinora.url), path),
    tus: () => sendByTus(`${kinora.url}/tus`, path, { authorization }),
  }
  const names = Object.keys(ways) as (keyof typeof ways)[]
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<
    keyof typeof ways,
    number[]
  >
  try {
    for (let round = 0; round < rounds; round++) {
      for (const name of names) {
        const time = await seconds(ways[name])
        // The first round warms up.
        if (round > 0) times[name].push(time)
        for (const file of await readdir(received)) await rm(join(received, file))
        await settle(kinora.url)
      }
    }
    const rate = (name: keyof typeof ways) => `${Math.round(fileBytes / MiB / median(times[name]))} MiB/s`
    const against = (peer: keyof typeof ways, name: keyof typeof ways) =>
      median(times[name].map((time, i) => times[peer][i]! / time))
    console.log(
      `1 GiB: bare server ${rate('bare')}, tus with its own store ${rate('bareTus')}, and on disk ${rate('durableTus')}`,
    )
    for (const [name, title] of [
      ['whole', 'whole'],
      ['chunks', `${chunkBytes / MiB} MiB chunks, ${atOnce} at once`],
      ['tus', 'by tus'],
    ] as const) {
      const [toBare, toTus] = [against('bare', name), against('durableTus', name)]
      const goal = toTus > 1 && toBare >= 0.7 ? 'reached' : 'MISSED'
      console.log(
        `${title.padEnd(26)} ${rate(name)}  to bare ${toBare.toFixed(2)}  to tus on disk ${toTus.toFixed(2)}, not on disk ${against('bareTus', name).toFixed(2)}  ${name === 'tus' ? 'no goal' : `goal 0.7 and above 1  ${goal}`}`,
      )
    }
    console.log(`peak memory of the service: ${await memoryMiB(kinora.child.pid, 'VmHWM')} MiB`)
  } finally {
    await stopServer(kinora)
    await stopServer(bare)
    await stopServer(bareTus)
    await stopServer(durableTus)
  }
  try {
    await growth(join(folder, 'data'), path)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
