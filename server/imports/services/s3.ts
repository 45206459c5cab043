import { Readable } from 'node:stream'
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3'
import { invalidAttribute } from '../../lib/errors.ts'
import { titleOfFile } from '../../media/file-title.ts'
import type { ServiceClient } from './client.ts'
import { ServiceError } from './errors.ts'
import { describeFile } from './file-description.ts'
import { isMediaFile, readTrackName, type TrackName } from './file-names.ts'
import { requireField } from './require-field.ts'
import type { ImportService, Library, ListedObject } from './service.ts'

const pattern = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/
const urlSeconds = 3_600
const pageSize = 1_000

/** Files of a bucket: folders become tags, captions beside a file are carried over. */
export const s3: ImportService = {
  keepsIds: false,
  read(request) {
    const location = requireField(request, 'location')
    const [, bucket] = pattern.exec(location) ?? []
    if (!bucket) throw invalidAttribute('location', '"location" must be a bucket, such as s3://films/2026.')
    const { url } = request
    const endpoint = url === undefined ? 'aws' : URL.parse(url)?.origin
    if (!endpoint) throw invalidAttribute('url', '"url" must be the http or https URL of the store.')
    const credentials = { key: requireField(request, 'key'), secret: requireField(request, 'secret') }
    return { account: `${endpoint}/${bucket}`, credentials }
  },
  open({ options, credentials }, client) {
    const [, bucket = '', prefix = ''] = pattern.exec(options.location ?? '') ?? []
    const { key = '', secret = '' } = credentials
    const settings = { url: options.url, region: options.region, key, secret }
    return new BucketLibrary(settings, client, { bucket, prefix })
  },
}

type Settings = { url: string | undefined; region: string | undefined; key: string; secret: string }

// The packages of S3 are large, and only loaded by those who use them.
const loadSdk = () => import('@aws-sdk/client-s3')
const loadSigner = () => import('@aws-sdk/s3-request-presigner')

async function createClient(
  { url, region, key, secret }: Settings,
  client: ServiceClient,
): Promise<S3Client> {
  const config: S3ClientConfig = {
    region: region ?? 'us-east-1',
    credentials: { accessKeyId: key, secretAccessKey: secret },
    // The item is retried as a whole.
    maxAttempts: 1,
    requestHandler: { handle: (request: SignedRequest) => send(client, request) },
    ...(url !== undefined && { endpoint: url, forcePathStyle: true }),
  }
  const { S3Client } = await loadSdk()
  return new S3Client(config)
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

/** Every request of the SDK is sent by the guarded client. */
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

type Details = { tracks: (TrackName & { key: string })[] }

class BucketLibrary implements Library {
  readonly #settings: Settings
  readonly #client: ServiceClient
  readonly #bucket: string
  readonly #prefix: string
  #opened: Promise<S3Client> | undefined

  constructor(
    settings: Settings,
    client: ServiceClient,
    { bucket, prefix }: { bucket: string; prefix: string },
  ) {
    this.#settings = settings
    this.#client = client
    this.#bucket = bucket
    this.#prefix = prefix
  }

  async list(cursor: string | null): Promise<{ items: ListedObject[]; next: string | null }> {
    const { ListObjectsV2Command } = await loadSdk()
    const command = new ListObjectsV2Command({
      Bucket: this.#bucket,
      Prefix: this.#prefix,
      MaxKeys: pageSize,
      ...(cursor !== null && { StartAfter: cursor }),
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
    const next = page.IsTruncated ? (objects.at(-1)?.key ?? null) : null
    const keys = objects.map(({ key }) => key)
    const items = objects.filter(({ key }) => isMediaFile(key)).map((each) => this.#listed(each, keys))
    return { items, next }
  }

  async describe({ title, id, details }: { title: string; id: string; details: object }) {
    const { tracks } = details as Details
    const sign = async ({ key, language }: { key: string; language: string }) => ({
      language,
      isDefault: false,
      url: await this.#sign(key),
    })
    const of = (kind: TrackName['kind']) => Promise.all(tracks.filter((each) => each.kind === kind).map(sign))
    const tags = id
      .slice(this.#prefix.length)
      .split('/')
      .slice(0, -1)
      .filter((name) => name !== '')
    return { ...describeFile(title), tags, captions: await of('captions'), chapters: await of('chapters') }
  }

  async open({ id }: { id: string }, from: number, validator: string | null) {
    return this.#client.file(await this.#sign(id), from, validator)
  }

  #listed({ key, etag, size }: StoredObject, keys: string[]): ListedObject {
    const tracks = keys.flatMap((each) => {
      const track = readTrackName(each, key)
      return track ? [{ ...track, key: each }] : []
    })
    const title = titleOfFile(key.split('/').at(-1) ?? key)
    const details = { tracks } satisfies Details
    const version = [etag, ...tracks.map((each) => each.key)].join(' ')
    return {
      kind: 'video',
      id: key,
      title,
      version,
      contentVersion: etag,
      bytes: size,
      seconds: null,
      details,
    }
  }

  #s3(): Promise<S3Client> {
    this.#opened ??= createClient(this.#settings, this.#client)
    return this.#opened
  }

  async #sign(key: string): Promise<string> {
    const [{ GetObjectCommand }, { getSignedUrl }] = await Promise.all([loadSdk(), loadSigner()])
    const command = new GetObjectCommand({ Bucket: this.#bucket, Key: key })
    return getSignedUrl(await this.#s3(), command, { expiresIn: urlSeconds })
  }
}

type StoredObject = { key: string; etag: string; size: number }

/** Errors of the store have a status and a code, such as AccessDenied. */
function explain(error: Error & { $metadata?: { httpStatusCode?: number } }): Error {
  const status = error.$metadata?.httpStatusCode
  if (status === undefined) return error
  const message = `The store responded with status ${status} (${error.name}).`
  return new ServiceError(message, { status, isRetryable: status >= 500 })
}
