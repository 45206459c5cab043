import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, readFile, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import * as tus from 'tus-js-client'
import {
  authorization,
  createVideo,
  median,
  Resources,
  startKinora,
  startServer,
  withTemporaryFolder,
} from './servers.ts'
import { above, atLeast, below, type Goal, printTable, type Row } from './table.ts'

export const MiB = 1024 * 1024
const fileBytes = 1024 * MiB
const chunkBytes = 50 * MiB
const concurrency = 4
const rounds = 4

type Range = { from: number; to: number }

/** Reads a range of a virtual file that repeats the content of the real one. */
async function* read(path: string, { from, to }: Range) {
  for (let position = from; position <= to; ) {
    const start = position % fileBytes
    const end = Math.min(fileBytes - 1, start + to - position)
    yield* createReadStream(path, { start, end, highWaterMark: MiB })
    position += end - start + 1
  }
}

type Request = { url: string; path: string; range: Range; headers?: Record<string, string> }

/** Sends a range of the file as a raw body. */
const sendRaw = (options: Request) => send(options, { head: '', tail: '', contentType: undefined })

/** Sends a range of the file as multipart/form-data. */
export function sendForm(options: Request): Promise<void> {
  const boundary = `kinora${randomBytes(12).toString('hex')}`
  return send(options, {
    head: `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="film.mp4"\r\ncontent-type: application/octet-stream\r\n\r\n`,
    tail: `\r\n--${boundary}--\r\n`,
    contentType: `multipart/form-data; boundary=${boundary}`,
  })
}

async function send(
  { url, path, range, headers = {} }: Request,
  { head, tail, contentType }: { head: string; tail: string; contentType: string | undefined },
): Promise<void> {
  const outgoing = request(url, {
    method: 'POST',
    headers: {
      ...headers,
      'content-length': range.to - range.from + 1 + head.length + tail.length,
      ...(contentType && { 'content-type': contentType }),
    },
  })
  const responded = once(outgoing, 'response')
  outgoing.write(head)
  await pipeline(read(path, range), outgoing, { end: false })
  outgoing.end(tail)
  const [response] = await responded
  for await (const _ of response);
  if (response.statusCode >= 300) throw new Error(`the response was ${response.statusCode}`)
}

function sendByTus(endpoint: string, path: string, headers: Record<string, string>): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const file = createReadStream(path, { highWaterMark: MiB })
  const upload = new tus.Upload(file, { endpoint, headers, onSuccess: () => resolve(), onError: reject })
  upload.start()
  return promise
}

export async function secondsOf(work: () => Promise<void>): Promise<number> {
  const start = performance.now()
  await work()
  return (performance.now() - start) / 1000
}

export const createSourceUrl = async (api: string) => `${api}/videos/${await createVideo(api)}/source`

export async function sendChunks(options: {
  api: string
  path: string
  bytes: number
  concurrency: number
}): Promise<void> {
  const { path, bytes } = options
  const url = await createSourceUrl(options.api)
  let next = 0
  const sendRemaining = async () => {
    while (next < bytes) {
      const range = { from: next, to: Math.min(bytes, next + chunkBytes) - 1 }
      next = range.to + 1
      const contentRange = `bytes ${range.from}-${range.to}/${bytes}`
      await sendForm({ url, path, range, headers: { authorization, 'content-range': contentRange } })
    }
  }
  await Promise.all(Array.from({ length: options.concurrency }, sendRemaining))
}

async function peakMemoryMiB(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024)
}

/** Deletes all videos and flushes the disk, so that pending writes of one run do not slow down the next. */
export async function deleteVideosAndSync(api: string): Promise<void> {
  const listed = await fetch(`${api}/videos`, { headers: { authorization } })
  const { data } = (await listed.json()) as { data: { videoId: string }[] }
  for (const { videoId } of data)
    await fetch(`${api}/videos/${videoId}`, { method: 'DELETE', headers: { authorization } })
  await promisify(execFile)('sync')
}

export async function writeRandomFile(path: string, bytes: number): Promise<void> {
  await using file = await open(path, 'w')
  for (let written = 0; written < bytes; written += 16 * MiB) await file.write(randomBytes(16 * MiB))
  await file.sync()
}

/** Runs each way of uploading in turn, once to warm up and then `rounds - 1` times. Returns seconds by name. */
export async function timeInTurns<Name extends string>(
  ways: Record<Name, () => Promise<void>>,
  totalRounds: number,
  cleanUp: (name: Name) => Promise<void>,
): Promise<Record<Name, number[]>> {
  const names = Object.keys(ways) as Name[]
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>
  for (let round = 0; round < totalRounds; round++) {
    for (const name of names) {
      const seconds = await secondsOf(ways[name])
      if (round > 0) times[name].push(seconds)
      await cleanUp(name)
    }
  }
  return times
}

/** The median of how many times faster than the reference each round was. */
export const speedRatio = (reference: number[], times: number[]) =>
  median(times.map((time, i) => reference[i]! / time))

export const rateOf = (bytes: number, times: number[]) => `${Math.round(bytes / MiB / median(times))} MiB/s`

async function compareWays(folder: string, path: string): Promise<void> {
  await using resources = new Resources()
  const received = join(folder, 'received')
  await mkdir(received)
  const kinora = await resources.server(startKinora(join(folder, 'data')))
  const start = (file: string, env = {}) =>
    resources.server(startServer(file, { BARE_FOLDER: received, ...env }))
  const bare = await start('bench/bare-upload.ts')
  const tusServer = await start('bench/bare-tus.ts')
  const syncedTus = await start('bench/bare-tus.ts', { BARE_SYNC: '1' })
  const range = { from: 0, to: fileBytes - 1 }
  const headers = { authorization }
  const ways = {
    bare: () => sendRaw({ url: bare.url, path, range }),
    tusServer: () => sendByTus(`${tusServer.url}/tus`, path, {}),
    syncedTus: () => sendByTus(`${syncedTus.url}/tus`, path, {}),
    single: async () => sendForm({ url: await createSourceUrl(kinora.url), path, range, headers }),
    chunks: () => sendChunks({ api: kinora.url, path, bytes: fileBytes, concurrency }),
    tus: () => sendByTus(`${kinora.url}/tus`, path, headers),
  }
  const times = await timeInTurns(ways, rounds, async () => {
    for (const file of await readdir(received)) await rm(join(received, file))
    await deleteVideosAndSync(kinora.url)
  })
  const titles = {
    single: 'one request',
    chunks: `${chunkBytes / MiB} MiB chunks, ${concurrency} at once`,
    tus: 'tus',
  }
  const rowsFor = (reference: 'bare' | 'syncedTus' | 'tusServer', goalOf: (ratio: number) => Goal) =>
    (['single', 'chunks', 'tus'] as const).map((name): Row => {
      const ratio = speedRatio(times[reference], times[name])
      const goal = name === 'tus' ? undefined : goalOf(ratio)
      const rates = { kinora: rateOf(fileBytes, times[name]), reference: rateOf(fileBytes, times[reference]) }
      return { measured: titles[name], ...rates, ratio, ...(goal && { goal }) }
    })
  printTable(
    '1 GiB upload, compared with a bare Node server',
    rowsFor('bare', (ratio) => atLeast(0.7, ratio)),
  )
  printTable(
    '1 GiB upload, compared with @tus/server and fsync',
    rowsFor('syncedTus', (ratio) => above(1, ratio)),
  )
  printTable(
    '1 GiB upload, compared with @tus/server without fsync',
    rowsFor('tusServer', (ratio) => above(1, ratio)),
  )
  console.log(`\nPeak memory of the service: ${await peakMemoryMiB(kinora.child.pid)} MiB`)
}

/** How much one upload of 5 GiB adds to the peak memory, measured after a small upload. */
async function measureMemoryGrowth(folder: string, path: string): Promise<void> {
  await using resources = new Resources()
  const kinora = await resources.server(startKinora(join(folder, 'data')))
  const upload = async (bytes: number) =>
    sendForm({
      url: await createSourceUrl(kinora.url),
      path,
      range: { from: 0, to: bytes - 1 },
      headers: { authorization },
    })
  await upload(64 * MiB)
  const before = await peakMemoryMiB(kinora.child.pid)
  await upload(5 * fileBytes)
  const growth = (await peakMemoryMiB(kinora.child.pid)) - before
  printTable('Peak memory', [
    { measured: 'added by a 5 GiB upload', kinora: `${growth} MiB`, goal: below(64, growth, ' MiB') },
  ])
}

export async function upload(): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    const path = join(folder, 'film.mp4')
    await writeRandomFile(path, fileBytes)
    await compareWays(folder, path)
    await measureMemoryGrowth(folder, path)
  })
}
