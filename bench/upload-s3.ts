import { randomBytes } from 'node:crypto'
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListObjectsV2Command,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { lacksSwift, startSwift } from '../test/swift.ts'
import { authorization, key, median, startServer, stopServer } from './servers.ts'
import { createVideo, MiB, seconds, send, sendChunks, settle } from './upload.ts'

// The same file into the same store: by the SDK alone, and through the service whole, in chunks and in one chunk at a time.

const fileBytes = 256 * MiB
const partBytes = 8 * MiB
const atOnce = 4
const bareKey = 'bare'
const rounds = 6

type Store = { name: string; endpoint: string; bucket: string; accessKey: string; secretKey: string }

/** What the SDK does on its own with a file: parts of 8 MiB, four at a time, as the chunks are. */
async function sendBySdk(client: S3Client, bucket: string, path: string): Promise<void> {
  const target = { Bucket: bucket, Key: bareKey }
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(target))
  await using file = await open(path)
  const parts: { ETag: string | undefined; PartNumber: number }[] = []
  let next = 0
  const work = async () => {
    while (next * partBytes < fileBytes) {
      const PartNumber = ++next
      const part = { ...target, UploadId, PartNumber, Body: await readPart(file, PartNumber) }
      const { ETag } = await client.send(new UploadPartCommand(part))
      parts[PartNumber - 1] = { ETag, PartNumber }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  await client.send(
    new CompleteMultipartUploadCommand({ ...target, UploadId, MultipartUpload: { Parts: parts } }),
  )
}

async function readPart(file: FileHandle, number: number): Promise<Buffer> {
  const position = (number - 1) * partBytes
  const buffer = Buffer.allocUnsafe(Math.min(partBytes, fileBytes - position))
  await file.read(buffer, 0, buffer.length, position)
  return buffer
}

/** Chunks are joined after the last answer, and files removed after it: neither may slow down whoever comes next. */
async function untilKeys(client: S3Client, bucket: string, isSettled: (keys: string[]) => boolean) {
  const list = async () => {
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }))
    return Contents.map(({ Key = '' }) => Key).filter((key) => key !== bareKey && key !== '.check')
  }
  while (!isSettled(await list())) await delay(100)
}

async function compare(store: Store, folder: string, path: string): Promise<void> {
  const { bucket } = store
  const client = new S3Client({
    ...{ endpoint: store.endpoint, region: 'us-east-1', forcePathStyle: true },
    credentials: { accessKeyId: store.accessKey, secretAccessKey: store.secretKey },
  })
  const kinora = await startServer('server/main.ts', {
    KINORA_DATA_DIR: join(folder, store.name),
    KINORA_PORT: '0',
    KINORA_PRODUCTION_KEY: key,
    KINORA_LOG_LEVEL: 'warn',
    KINORA_S3_ENDPOINT: store.endpoint,
    KINORA_S3_BUCKET: bucket,
    KINORA_S3_ACCESS_KEY: store.accessKey,
    KINORA_S3_SECRET_KEY: store.secretKey,
  })
  const all = { from: 0, to: fileBytes - 1 }
  const ways = {
    bare: () => sendBySdk(client, bucket, path),
    whole: async () => send(`${await createVideo(kinora.url)}/source`, path, all, true, { authorization }),
    chunks: async () => sendChunks(await createVideo(kinora.url), path, fileBytes, atOnce),
    oneByOne: async () => sendChunks(await createVideo(kinora.url), path, fileBytes, 1),
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
        if (name === 'bare') continue
        await untilKeys(client, bucket, (keys) => keys.length === 1 && keys[0]!.endsWith('/source'))
        await settle(kinora.url)
        await untilKeys(client, bucket, (keys) => keys.length === 0)
      }
    }
  } finally {
    await stopServer(kinora)
    client.destroy()
  }
  const rate = (name: keyof typeof ways) => `${Math.round(fileBytes / MiB / median(times[name]))} MiB/s`
  const ratio = (name: keyof typeof ways) => median(times[name].map((time, i) => times.bare[i]! / time))
  console.log(`${store.name}: bare SDK ${rate('bare')}`)
  for (const [name, title] of [
    ['whole', 'whole'],
    ['chunks', `50 MiB chunks, ${atOnce} at once`],
    ['oneByOne', '50 MiB chunks, one by one'],
  ] as const) {
    const goal = ratio(name) >= 0.75 ? 'reached' : 'MISSED'
    console.log(`${title.padEnd(26)} ${rate(name)}  to bare ${ratio(name).toFixed(2)}  goal 0.75  ${goal}`)
  }
}

export async function uploadToS3(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'kinora-bench-'))
  const path = join(folder, 'film.mp4')
  const file = await open(path, 'w')
  for (let at = 0; at < fileBytes; at += 16 * MiB)
    await file.write(randomBytes(Math.min(16 * MiB, fileBytes - at)))
  await file.close()
  const ends: (() => unknown)[] = []
  try {
    const emulator = await startServer('bench/s3-store.ts', { STORE_FOLDER: join(folder, 'store') })
    ends.push(() => stopServer(emulator))
    const test = { bucket: 'videos', accessKey: 'test', secretKey: 'test' }
    await compare({ name: 'fauxqs', endpoint: emulator.url, ...test }, folder, path)
    if (lacksSwift) return console.log(`Swift: skipped, ${lacksSwift}`)
    const swift = await startSwift({ after: (end) => ends.push(end) })
    const bucket = await swift.createBucket()
    await compare({ name: 'Swift', endpoint: swift.endpoint, bucket, ...swift.keys }, folder, path)
  } finally {
    for (const end of ends) await end()
    await rm(folder, { recursive: true, force: true })
  }
}
