import { setTimeout as delay } from 'node:timers/promises'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListPartsCommand,
  S3Client,
  type S3ClientConfig,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { inParallel } from '../parallel.ts'
import { type AnswerHeaders, FileMissing, FilesProblem, type Stat } from './files.ts'

export type S3Settings = {
  endpoint: string
  bucket: string
  region: string
  accessKey: string
  secretKey: string
  /** Files are given out by addresses of the store. */
  isRedirecting?: boolean
}

export const KiB = 1024
export const MiB = 1024 * KiB
export const GiB = 1024 * MiB

/**
 * A request waits for: 3 attempts, each 3 s to connect and 15 s without a byte, with 0.1 to 0.3 s between them. A store
 * that refuses connections is told in under a second, one that drops packets in 10 s: within the patience of clients.
 */
const attempts = 3
const connectWithinMs = 3_000
const silenceMs = 15_000

/** Copies inside the store answer when they are done; 5 GiB at 50 MB/s take 110 s. */
const copySilenceMs = 300_000

const sameForMs = 900_000
const signedForSeconds = 3_600

/** As many requests at once as clean-up and joining make; more would only crowd out uploads. */
export const parallel = 8

/** 7.5 s in all. */
const abortAttempts = 5
const abortPauseMs = 500

const networkCodes =
  /^(E(CONN|HOST|NET|PIPE|AI_|PROTO|TIMEDOUT)|ENOTFOUND|CERT_|DEPTH_|SELF_|UNABLE_|ERR_TLS|ERR_SSL)/

type Failure = Error & { Code?: string; code?: string; $metadata?: { httpStatusCode?: number } }

/** Only what `send` throws is judged: a body that breaks off (ECONNRESET) is not the store's doing. */
function judge(error: unknown): unknown {
  if (!(error instanceof Error) || error.name === 'AbortError') return error
  const { name, code = '', $metadata } = error as Failure
  const status = $metadata?.httpStatusCode ?? 0
  if (name === 'NoSuchBucket') return new FilesProblem('refused', error)
  if (status === 404) return new FileMissing(error.message || name, { cause: error })
  if (status === 507 || /Quota|StorageFull/.test(name)) return new FilesProblem('full', error)
  if ([301, 307, 401, 403].includes(status) || name === 'AuthorizationHeaderMalformed') {
    return new FilesProblem('refused', error)
  }
  if (status >= 500 || status === 429 || status === 408) return new FilesProblem('unreachable', error)
  if (name === 'TimeoutError' || networkCodes.test(code)) return new FilesProblem('unreachable', error)
  return error
}

type Command = Parameters<S3Client['send']>[0]

export class Bucket {
  readonly name: string
  readonly #quick: S3Client
  readonly #patient: S3Client

  constructor({ endpoint, bucket, region, accessKey, secretKey }: S3Settings) {
    this.name = bucket
    const shared: S3ClientConfig = {
      endpoint,
      region,
      forcePathStyle: true,
      credentials: { accessKeyId: accessKey, secretAccessKey: secretKey },
      maxAttempts: attempts,
      // The default sends checksums as trailers, which many S3-compatible stores do not know. Bodies are signed anyway.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
    }
    const handler = (socketTimeout: number) => ({ connectionTimeout: connectWithinMs, socketTimeout })
    this.#quick = new S3Client({ ...shared, requestHandler: handler(silenceMs) })
    this.#patient = new S3Client({ ...shared, requestHandler: handler(copySilenceMs) })
  }

  /** `send` of the client, with errors that the callers know. */
  readonly send: S3Client['send'] = ((command: Command, options: { abortSignal?: AbortSignal }) =>
    this.#quick.send(command, options).catch((error: unknown) => {
      throw judge(error)
    })) as S3Client['send']

  /** For what the store does at length by itself. */
  readonly sendPatiently: S3Client['send'] = ((command: Command) =>
    this.#patient.send(command).catch((error: unknown) => {
      throw judge(error)
    })) as S3Client['send']

  async stat(key: string): Promise<Stat | undefined> {
    try {
      const found = await this.send(new HeadObjectCommand({ Bucket: this.name, Key: key }))
      return { size: found.ContentLength ?? 0, modified: found.LastModified ?? new Date() }
    } catch (error) {
      if (error instanceof FileMissing) return undefined
      throw error
    }
  }

  async sizeOf(key: string): Promise<number | undefined> {
    return (await this.stat(key))?.size
  }

  /** The same address for a quarter of an hour, so that caches know it again; valid for three more. */
  sign(key: string, { type, cacheControl, disposition }: AnswerHeaders): Promise<string> {
    const command = new GetObjectCommand({
      Bucket: this.name,
      Key: key,
      ResponseContentType: type,
      ResponseCacheControl: cacheControl,
      ...(disposition !== undefined && { ResponseContentDisposition: disposition }),
    })
    const signingDate = new Date(Math.floor(Date.now() / sameForMs) * sameForMs)
    return getSignedUrl(this.#quick, command, { expiresIn: signedForSeconds, signingDate })
  }

  async delete(key: string): Promise<void> {
    await this.send(new DeleteObjectCommand({ Bucket: this.name, Key: key })).catch(unlessMissing)
  }

  async *list(prefix: string): AsyncGenerator<{ key: string; modified: Date }> {
    let token: string | undefined
    do {
      const page = await this.send(
        new ListObjectsV2Command({
          Bucket: this.name,
          Prefix: prefix,
          ...(token && { ContinuationToken: token }),
        }),
      )
      for (const { Key, LastModified } of page.Contents ?? []) {
        if (Key) yield { key: Key, modified: LastModified ?? new Date() }
      }
      token = page.IsTruncated ? page.NextContinuationToken : undefined
    } while (token)
  }

  /** Names directly below a prefix that ends with a slash: of objects, and of what their keys have in common. */
  async listNames(prefix: string, after: string, limit: number): Promise<string[]> {
    const names: string[] = []
    // "0" follows "/": everything below the last name is skipped. A page has at most 1,000 names.
    for (let start = after && `${prefix}${after}0`; names.length < limit; ) {
      const page = await this.send(
        new ListObjectsV2Command({
          ...{ Bucket: this.name, Prefix: prefix, Delimiter: '/' },
          MaxKeys: Math.min(1_000, limit - names.length),
          ...(start && { StartAfter: start }),
        }),
      )
      const found = [
        ...(page.CommonPrefixes ?? []).map(({ Prefix = '' }) => Prefix.slice(prefix.length, -1)),
        ...(page.Contents ?? []).map(({ Key = '' }) => Key.slice(prefix.length)),
      ].sort()
      names.push(...found)
      if (!page.IsTruncated || found.length === 0) break
      start = `${prefix}${found.at(-1)}0`
    }
    return names
  }

  async *listMultipartUploads(prefix: string): AsyncGenerator<{ key: string; id: string; initiated: Date }> {
    let markers = {}
    while (true) {
      const page = await this.send(
        new ListMultipartUploadsCommand({ Bucket: this.name, Prefix: prefix, ...markers }),
      )
      for (const { Key, UploadId, Initiated } of page.Uploads ?? [])
        if (Key && UploadId) yield { key: Key, id: UploadId, initiated: Initiated ?? new Date() }
      if (!page.IsTruncated || !page.NextKeyMarker) return
      markers = { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker }
    }
  }

  async deleteBelow(prefix: string): Promise<void> {
    // One by one: deleting many in one request needs a checksum that not every store takes.
    await inParallel(this.list(prefix), parallel, ({ key }) => this.delete(key))
  }

  async begin(key: string): Promise<string> {
    const { UploadId } = await this.send(new CreateMultipartUploadCommand({ Bucket: this.name, Key: key }))
    if (!UploadId) throw new Error('the store began a multipart upload without an id')
    return UploadId
  }

  /**
   * A part whose request is under way may be stored after the abort. S3 asks to abort again until it lists no parts.
   */
  async abort(key: string, id: string): Promise<void> {
    const upload = { Bucket: this.name, Key: key, UploadId: id }
    for (let attempt = 1; attempt <= abortAttempts; attempt++) {
      await this.send(new AbortMultipartUploadCommand(upload)).catch(unlessMissing)
      const left = await this.send(new ListPartsCommand(upload)).catch(unlessMissing)
      if (!left?.Parts?.length) return
      await delay(attempt * abortPauseMs)
    }
    throw new FilesProblem('unreachable', new Error(`parts of ${key} are still being stored`))
  }

  async complete(key: string, id: string, tags: string[], size: number): Promise<void> {
    const parts = tags.map((ETag, i) => ({ ETag, PartNumber: i + 1 }))
    await this.sendPatiently(
      new CompleteMultipartUploadCommand({
        Bucket: this.name,
        Key: key,
        UploadId: id,
        MultipartUpload: { Parts: parts },
      }),
    ).catch((error) => {
      // An answer that was lost on the way makes the second attempt find no upload: the size below decides.
      if (!(error instanceof FileMissing)) throw error
    })
    const stored = await this.sizeOf(key)
    if (stored !== size) throw new FileMissing(`${key} has ${stored ?? 'no'} bytes in the store, not ${size}`)
  }

  close(): void {
    this.#quick.destroy()
    this.#patient.destroy()
  }
}

function unlessMissing(error: unknown): undefined {
  if (!(error instanceof FileMissing)) throw error
}
