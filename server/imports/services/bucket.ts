import { Readable } from 'node:stream'
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3'
import type { ServiceClient } from './client.ts'
import { ServiceError } from './errors.ts'

export type BucketSettings = {
  /** By default Amazon. */
  url: string | undefined
  region: string | undefined
  key: string
  secret: string
  bucket: string
}

export type StoredObject = { key: string; etag: string; size: number }

const urlSeconds = 3_600
const pageSize = 1_000

// The packages of S3 are large, and only loaded by those who use them.
const loadSdk = () => import('@aws-sdk/client-s3')
const loadSigner = () => import('@aws-sdk/s3-request-presigner')

/** Reads a bucket. The guarded client sends every request. */
export class Bucket {
  readonly #settings: BucketSettings
  readonly #client: ServiceClient
  #opened: Promise<S3Client> | undefined

  constructor(settings: BucketSettings, client: ServiceClient) {
    this.#settings = settings
    this.#client = client
  }

  /**
   * The next objects after this key, in the order of their keys. What belongs together, such as a file and its captions, is
   * not divided, as long as it fits into a page.
   */
  async list(prefix: string, after: string): Promise<{ objects: StoredObject[]; isLast: boolean }> {
    const { ListObjectsV2Command } = await loadSdk()
    const command = new ListObjectsV2Command({
      Bucket: this.#settings.bucket,
      Prefix: prefix,
      MaxKeys: pageSize,
      ...(after !== '' && { StartAfter: after }),
    })
    const s3 = await this.#s3()
    const page = await s3.send(command).catch((error) => {
      throw explain(error)
    })
    const objects = (page.Contents ?? []).map(({ Key = '', ETag = '', Size = 0 }) => ({
      key: Key,
      etag: ETag.replaceAll('"', ''),
      size: Size,
    }))
    const isLast = !page.IsTruncated || objects.length === 0
    return { objects: isLast ? objects : withoutDivided(objects), isLast }
  }

  /** A small object. */
  async read(key: string, maxBytes: number): Promise<Buffer> {
    return this.#client.bytes(await this.sign(key), maxBytes)
  }

  /** The URL of an object, for an hour. */
  async sign(key: string): Promise<string> {
    const [{ GetObjectCommand }, { getSignedUrl }] = await Promise.all([loadSdk(), loadSigner()])
    const command = new GetObjectCommand({ Bucket: this.#settings.bucket, Key: key })
    return getSignedUrl(await this.#s3(), command, { expiresIn: urlSeconds })
  }

  #s3(): Promise<S3Client> {
    this.#opened ??= this.#open()
    return this.#opened
  }

  async #open(): Promise<S3Client> {
    const { url, region, key, secret } = this.#settings
    const config: S3ClientConfig = {
      region: region ?? 'us-east-1',
      credentials: { accessKeyId: key, secretAccessKey: secret },
      // The item is retried as a whole.
      maxAttempts: 1,
      requestHandler: { handle: (request: SignedRequest) => send(this.#client, request) },
      ...(url !== undefined && { endpoint: url, forcePathStyle: true }),
    }
    const { S3Client } = await loadSdk()
    return new S3Client(config)
  }
}

/** Objects of one folder belong together. In a folder that fills the page, those do whose names have the same beginning. */
function withoutDivided(objects: StoredObject[]): StoredObject[] {
  const last = objects.at(-1)!.key
  const name = last.lastIndexOf('/') + 1
  const dot = last.indexOf('.', name)
  for (const group of [last.slice(0, name), last.slice(0, dot < 0 ? undefined : dot + 1)]) {
    const complete = objects.filter(({ key }) => !key.startsWith(group))
    if (complete.length > 0) return complete
  }
  return objects
}

type SignedRequest = {
  method: string
  protocol: string
  hostname: string
  port?: number
  path: string
  query?: Record<string, string | string[] | null>
  headers: Record<string, string>
}

async function send(
  client: ServiceClient,
  { protocol, hostname, port, path, query, headers }: SignedRequest,
) {
  const url = new URL(`${protocol}//${hostname}${port ? `:${port}` : ''}${path}`)
  for (const [name, value] of Object.entries(query ?? {}))
    for (const each of [value].flat()) url.searchParams.append(name, each ?? '')
  const response = await client.send(url.href, { headers })
  const body = Readable.from(response.body)
  return {
    response: { statusCode: response.status, headers: response.headers as Record<string, string>, body },
  }
}

/** Errors of the store have a status and a code, such as AccessDenied. */
function explain(error: Error & { $metadata?: { httpStatusCode?: number } }): Error {
  const status = error.$metadata?.httpStatusCode
  if (status === undefined) return error
  const message = `The store responded with status ${status} (${error.name}).`
  return new ServiceError(message, { status, isRetryable: status === 429 || status >= 500 })
}
