import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { Agent, createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { startFauxqs } from 'fauxqs'
import { temporaryFolder } from './harness.ts'

// An S3 emulator behind a proxy. The proxy adds two operations that the emulator lacks (ListMultipartUploads and
// ListParts), records every request, and can hold requests.

type RecordedRequest = {
  method: string
  path: string
  /** Whether the store copies an object. */
  isCopy: boolean
  state: 'held' | 'sent' | 'completed'
}

export type S3Store = {
  endpoint: string
  folder: string
  settings: { endpoint: string; bucket: string; region: string; accessKey: string; secretKey: string }
  env: Record<string, string>
  requests: RecordedRequest[]
  /** Holds matching requests until the returned function is called. */
  hold(matches: (method: string, path: string) => boolean): () => void
  releaseAll(): void
  /** The keys of open multipart uploads. */
  openUploads(): Promise<string[]>
  /** Reports all multipart uploads as initiated this much earlier. */
  backdateUploads(byMs: number): void
  /** The next abort requests succeed without effect. */
  ignoreAborts(count: number): void
  stop(): Promise<void>
  restart(): Promise<void>
}

const bucket = 'videos'

type S3StoreOptions = { folder?: string; host?: string; port?: number }

export async function startS3Store(
  t: { after(end: () => unknown): void },
  { folder: existing, host = '127.0.0.1', port = 0 }: S3StoreOptions = {},
): Promise<S3Store> {
  const folder = existing ?? (await temporaryFolder(t))
  const options = { port: 0, host: '127.0.0.1', logger: false, s3StorageDir: folder }
  let emulator = await startFauxqs(options)
  t.after(() => emulator.stop())
  let isStopped = false
  let ignoredAborts = 0
  let backdatedMs = 0
  emulator.createBucket(bucket)
  const requests: RecordedRequest[] = []
  type Hold = { matches: (method: string, path: string) => boolean; released: Promise<void>; release(): void }
  const holds = new Set<Hold>()
  const agent = new Agent({ keepAlive: true })

  const forward = (received: IncomingMessage, path: string) =>
    request({
      host: '127.0.0.1',
      port: emulator.port,
      agent,
      path,
      method: received.method,
      headers: received.headers,
    })

  const proxy = createServer(async (received, response) => {
    const { method = '', url: path = '' } = received
    if (isStopped) return received.destroy()
    const isCopy = 'x-amz-copy-source' in received.headers
    const recorded: RecordedRequest = { method, path, isCopy, state: 'held' }
    requests.push(recorded)
    try {
      for (const { matches, released } of holds) if (matches(method, path)) await released
      recorded.state = 'sent'
      const listed = method === 'GET' ? await list(folder, path, backdatedMs) : undefined
      if (method === 'DELETE' && path.includes('uploadId=') && ignoredAborts > 0) {
        ignoredAborts--
        response.writeHead(204).end()
      } else if (listed) {
        response.writeHead(listed.status, { 'content-type': 'application/xml' }).end(listed.body)
      } else {
        const sent = forward(received, path)
        const [[upstream]] = await Promise.all([once(sent, 'response'), pipeline(received, sent)])
        response.writeHead(upstream.statusCode, upstream.headers)
        await pipeline(upstream, response)
      }
      recorded.state = 'completed'
    } catch {
      response.destroy()
    }
  }).listen(port, host)
  await once(proxy, 'listening')
  t.after(() => {
    agent.destroy()
    proxy.closeAllConnections()
    proxy.close()
  })
  const endpoint = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const keys = { region: 'us-east-1', accessKey: 'test', secretKey: 'test' }
  return {
    endpoint,
    folder,
    requests,
    settings: { ...keys, endpoint, bucket },
    env: {
      KINORA_S3_ENDPOINT: endpoint,
      KINORA_S3_BUCKET: bucket,
      KINORA_S3_REGION: keys.region,
      KINORA_S3_ACCESS_KEY: keys.accessKey,
      KINORA_S3_SECRET_KEY: keys.secretKey,
    },
    hold(matches) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const release = () => {
        holds.delete(hold)
        resolve()
      }
      const hold: Hold = { matches, released: promise, release }
      holds.add(hold)
      return release
    },
    releaseAll() {
      for (const hold of holds) hold.release()
    },
    backdateUploads(byMs) {
      backdatedMs = byMs
    },
    ignoreAborts(count) {
      ignoredAborts = count
    },
    async stop() {
      isStopped = true
      await emulator.stop()
    },
    async restart() {
      emulator = await startFauxqs(options)
      isStopped = false
    },
    openUploads: async () => (await readUploads(folder)).map(({ key }) => key),
  }
}

type Upload = { uploadId: string; key: string; initiated: string }

async function readUploads(folder: string): Promise<Upload[]> {
  const root = join(folder, '_multipart')
  const uploads: Upload[] = []
  for (const name of await readdir(root)) {
    const text = await readFile(join(root, name, '.upload.json'), 'utf8').catch(() => undefined)
    if (text) uploads.push(JSON.parse(text))
  }
  return uploads
}

async function list(
  folder: string,
  path: string,
  backdatedMs: number,
): Promise<{ status: number; body: string } | undefined> {
  const { pathname, searchParams } = new URL(path, 'http://store')
  const tag = (name: string, value: string) => `<${name}>${value}</${name}>`
  const isBucket = pathname.split('/').filter(Boolean).length === 1
  if (isBucket && searchParams.has('uploads')) {
    const prefix = searchParams.get('prefix') ?? ''
    // Two uploads per page, so that clients have to page.
    const marker = [searchParams.get('key-marker') ?? '', searchParams.get('upload-id-marker') ?? ''].join(
      '\n',
    )
    const all = (await readUploads(folder))
      .filter(({ key }) => key.startsWith(prefix))
      .map((upload) => ({ ...upload, at: [upload.key, upload.uploadId].join('\n') }))
      .filter(({ at }) => at > marker)
      .sort((a, b) => (a.at < b.at ? -1 : 1))
    const page = all.slice(0, 2)
    const uploads = page.map(({ uploadId, key, initiated }) =>
      tag(
        'Upload',
        tag('UploadId', uploadId) +
          tag('Key', key) +
          tag('Initiated', new Date(Date.parse(initiated) - backdatedMs).toISOString()),
      ),
    )
    const last = page.at(-1)
    const next = last ? tag('NextKeyMarker', last.key) + tag('NextUploadIdMarker', last.uploadId) : ''
    const isTruncated = tag('IsTruncated', String(all.length > page.length))
    return { status: 200, body: tag('ListMultipartUploadsResult', uploads.join('') + next + isTruncated) }
  }
  const id = searchParams.get('uploadId')
  if (!id) return undefined
  const parts = await readdir(join(folder, '_multipart', id, 'parts')).catch(() => undefined)
  if (!parts) return { status: 404, body: tag('Error', tag('Code', 'NoSuchUpload')) }
  const numbers = parts.filter((name) => name.endsWith('.data')).map((name) => name.replace('.data', ''))
  const listed = numbers.map((number) => tag('Part', tag('PartNumber', number)))
  return { status: 200, body: tag('ListPartsResult', listed.join('') + tag('IsTruncated', 'false')) }
}
