import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListObjectsV2Command,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { lacksSwift, startSwift } from '../test/support/swift.ts'
import { authorization, Resources, startKinora, startServer, withTemporaryFolder } from './servers.ts'
import { atLeast, printTable } from './table.ts'
import {
  createSourceUrl,
  deleteVideosAndSync,
  MiB,
  rateOf,
  sendChunks,
  sendForm,
  speedRatio,
  timeInTurns,
  writeRandomFile,
} from './upload.ts'

// Uploads the same file to the same store: with the SDK alone, and through the service in one request and in chunks.

const fileBytes = 256 * MiB
const partBytes = 8 * MiB
const concurrency = 4
const sdkKey = 'bare'
const rounds = 6

type Store = { name: string; endpoint: string; bucket: string; accessKey: string; secretKey: string }

/** Multipart upload with the SDK: parts of 8 MiB, as many at once as the chunks. */
async function sendBySdk(client: S3Client, bucket: string, path: string): Promise<void> {
  const target = { Bucket: bucket, Key: sdkKey }
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(target))
  await using file = await open(path)
  const parts: { ETag: string | undefined; PartNumber: number }[] = []
  let next = 0
  const sendRemaining = async () => {
    while (next * partBytes < fileBytes) {
      const PartNumber = ++next
      const part = { ...target, UploadId, PartNumber, Body: await readPart(file, PartNumber) }
      const { ETag } = await client.send(new UploadPartCommand(part))
      parts[PartNumber - 1] = { ETag, PartNumber }
    }
  }
  await Promise.all(Array.from({ length: concurrency }, sendRemaining))
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

/** The service joins chunks and removes files after its last response. Both must finish before the next run starts. */
async function waitForKeys(client: S3Client, bucket: string, isDone: (keys: string[]) => boolean) {
  const listKeys = async () => {
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }))
    return Contents.map(({ Key = '' }) => Key).filter((key) => key.startsWith('videos/'))
  }
  while (!isDone(await listKeys())) await delay(100)
}

async function compare(store: Store, folder: string, path: string): Promise<void> {
  const { bucket } = store
  await using resources = new Resources()
  const client = new S3Client({
    endpoint: store.endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: store.accessKey, secretAccessKey: store.secretKey },
  })
  resources.add(() => client.destroy())
  const kinora = await resources.server(
    startKinora(join(folder, store.name), {
      KINORA_S3_ENDPOINT: store.endpoint,
      KINORA_S3_BUCKET: bucket,
      KINORA_S3_ACCESS_KEY: store.accessKey,
      KINORA_S3_SECRET_KEY: store.secretKey,
    }),
  )
  const api = kinora.url
  const single = async () =>
    sendForm({
      url: await createSourceUrl(api),
      path,
      range: { from: 0, to: fileBytes - 1 },
      headers: { authorization },
    })
  const ways = {
    sdk: () => sendBySdk(client, bucket, path),
    single,
    chunks: () => sendChunks({ api, path, bytes: fileBytes, concurrency }),
    sequential: () => sendChunks({ api, path, bytes: fileBytes, concurrency: 1 }),
  }
  const times = await timeInTurns(ways, rounds, async (name) => {
    if (name === 'sdk') return
    await waitForKeys(client, bucket, (keys) => keys.length === 1 && keys[0]!.endsWith('/source'))
    await deleteVideosAndSync(api)
    await waitForKeys(client, bucket, (keys) => keys.length === 0)
  })
  const row = (measured: string, name: keyof typeof ways) => {
    const ratio = speedRatio(times.sdk, times[name])
    const rates = { kinora: rateOf(fileBytes, times[name]), reference: rateOf(fileBytes, times.sdk) }
    return { measured, ...rates, ratio, goal: atLeast(0.75, ratio) }
  }
  printTable(`256 MiB upload to ${store.name}, compared with the AWS SDK`, [
    row('one request', 'single'),
    row(`50 MiB chunks, ${concurrency} at once`, 'chunks'),
    row('50 MiB chunks, one after the other', 'sequential'),
  ])
}

export async function uploadToS3(): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    await using resources = new Resources()
    const path = join(folder, 'film.mp4')
    await writeRandomFile(path, fileBytes)
    const emulator = await resources.server(
      startServer('bench/s3-store.ts', { STORE_FOLDER: join(folder, 'store') }),
    )
    const credentials = { bucket: 'videos', accessKey: 'test', secretKey: 'test' }
    await compare({ name: 'fauxqs', endpoint: emulator.url, ...credentials }, folder, path)
    if (lacksSwift) return console.log(`\nSwift: skipped, ${lacksSwift}`)
    const swift = await startSwift({ after: (close) => resources.add(close) })
    const bucket = await swift.createBucket()
    await compare({ name: 'Swift', endpoint: swift.endpoint, bucket, ...swift.keys }, folder, path)
  })
}
