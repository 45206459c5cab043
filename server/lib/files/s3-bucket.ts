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
  type S3Client,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { inParallel } from '../parallel.ts'
import { FileNotFoundError, FileStoreError, type ResponseHeaders, type Stat } from './files.ts'
import { type Limits, S3Requests, type S3Settings } from './s3-requests.ts'

export const KiB = 1024
export const MiB = 1024 * KiB
export const GiB = 1024 * MiB

/** The store responds to a copy when it is done: 5 GiB at 50 MB/s take 110 s. */
const copyBytesPerMs = 50_000

const urlStableMs = 900_000
const urlValidSeconds = 3_600

/** Concurrent requests of clean-up and joining. More of them would slow down uploads. */
export const maxParallel = 8

/** 7.5 s in total. */
const abortAttempts = 5
const abortPauseMs = 500

export type RequestOptions = { requestTimeout?: number }

export class Bucket {
  readonly name: string
  readonly send: S3Client['send']
  readonly limits: Limits
  readonly #requests: S3Requests

  constructor(settings: S3Settings) {
    this.name = settings.bucket
    this.#requests = new S3Requests(settings)
    this.send = this.#requests.send
    this.limits = this.#requests.limits
  }

  /** For requests in which the store itself copies this many bytes. */
  copyTimeout(bytes: number): { requestTimeout: number } {
    return { requestTimeout: this.limits.totalMs + Math.ceil(bytes / copyBytesPerMs) }
  }

  /** For cleaning up after this error. The client has already waited for an unreachable store. */
  cleanUpTimeout(error: unknown): RequestOptions {
    const isUnreachable = error instanceof FileStoreError && error.kind === 'unreachable'
    return isUnreachable ? { requestTimeout: this.limits.cleanUpMs } : {}
  }

  async stat(key: string): Promise<Stat | undefined> {
    try {
      const found = await this.send(new HeadObjectCommand({ Bucket: this.name, Key: key }))
      return { size: found.ContentLength ?? 0, modified: found.LastModified ?? new Date() }
    } catch (error) {
      if (error instanceof FileNotFoundError) return undefined
      throw error
    }
  }

  async sizeOf(key: string): Promise<number | undefined> {
    return (await this.stat(key))?.size
  }

  /** The URL is the same for 15 minutes, so that caches can reuse it, and stays valid for at least 45 more. */
  signUrl(key: string, { type, cacheControl, disposition }: ResponseHeaders): Promise<string> {
    const command = new GetObjectCommand({
      Bucket: this.name,
      Key: key,
      ResponseContentType: type,
      ResponseCacheControl: cacheControl,
      ...(disposition !== undefined && { ResponseContentDisposition: disposition }),
    })
    const client = this.#requests.plainClient
    // The offset corrects a wrong clock of this machine.
    const now = Date.now() + client.config.systemClockOffset
    const signingDate = new Date(Math.floor(now / urlStableMs) * urlStableMs)
    return getSignedUrl(client, command, { expiresIn: urlValidSeconds, signingDate })
  }

  async delete(key: string, options: RequestOptions = {}): Promise<void> {
    await this.send(new DeleteObjectCommand({ Bucket: this.name, Key: key }), options).catch(unlessMissing)
  }

  async *list(prefix: string): AsyncGenerator<{ key: string; modified: Date; size: number }> {
    let token: string | undefined
    do {
      const page = await this.send(
        new ListObjectsV2Command({
          Bucket: this.name,
          Prefix: prefix,
          ...(token && { ContinuationToken: token }),
        }),
      )
      for (const { Key, LastModified, Size } of page.Contents ?? []) {
        if (Key) yield { key: Key, modified: LastModified ?? new Date(), size: Size ?? 0 }
      }
      token = page.IsTruncated ? page.NextContinuationToken : undefined
    } while (token)
  }

  /** Names of objects and common prefixes directly below a prefix that ends with a slash. */
  async listNames(prefix: string, after: string, limit: number): Promise<string[]> {
    const names: string[] = []
    // "0" follows "/" in the sort order, so keys below the last name are skipped. A page has at most 1,000 names.
    for (let start = after && `${prefix}${after}0`; names.length < limit; ) {
      const page = await this.send(
        new ListObjectsV2Command({
          Bucket: this.name,
          Prefix: prefix,
          Delimiter: '/',
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
    // One by one: a request that deletes many objects needs a checksum that some stores do not support.
    await inParallel(this.list(prefix), maxParallel, ({ key }) => this.delete(key))
  }

  /** Whether the object was assembled from this upload. */
  async isAssembledFrom(key: string, handle: string, size: number): Promise<boolean> {
    const object = { Bucket: this.name, Key: key }
    const found = await this.send(new HeadObjectCommand(object)).catch(unlessMissing)
    return found?.ContentLength === size && found.Metadata?.upload === handle
  }

  async beginMultipart(key: string, handle: string): Promise<string> {
    const upload = { Bucket: this.name, Key: key, Metadata: { upload: handle } }
    const { UploadId } = await this.send(new CreateMultipartUploadCommand(upload))
    if (!UploadId) throw new Error('the store returned no id for a multipart upload')
    return UploadId
  }

  /**
   * A part whose request is pending may be stored after the abort. S3 recommends to abort again until it lists no parts.
   * With a time limit there is only one attempt, and `abortOrphanedUploads` removes the rest later.
   */
  async abortMultipart(key: string, id: string, options: RequestOptions = {}): Promise<void> {
    const upload = { Bucket: this.name, Key: key, UploadId: id }
    for (let attempt = 1; attempt <= abortAttempts; attempt++) {
      await this.send(new AbortMultipartUploadCommand(upload), options).catch(unlessMissing)
      if (options.requestTimeout !== undefined) return
      const left = await this.send(new ListPartsCommand(upload)).catch(unlessMissing)
      if (!left?.Parts?.length) return
      await delay(attempt * abortPauseMs)
    }
    throw new FileStoreError('unreachable', new Error(`parts of ${key} are still being stored`))
  }

  async completeMultipart(key: string, id: string, etags: string[], size: number): Promise<void> {
    const parts = etags.map((ETag, i) => ({ ETag, PartNumber: i + 1 }))
    const upload = { Bucket: this.name, Key: key, UploadId: id, MultipartUpload: { Parts: parts } }
    try {
      await this.send(new CompleteMultipartUploadCommand(upload), this.copyTimeout(size))
    } catch (error) {
      // If the response was lost, the second attempt finds no upload. The size tells whether the first one succeeded.
      if (!(error instanceof FileNotFoundError)) throw error
      const stored = await this.sizeOf(key)
      if (stored !== size)
        throw new FileNotFoundError(`${key} has ${stored ?? 'no'} bytes in the store, not ${size}`)
    }
  }

  close(): void {
    this.#requests.close()
  }
}

function unlessMissing(error: unknown): undefined {
  if (!(error instanceof FileNotFoundError)) throw error
}
