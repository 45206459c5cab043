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
import { type AnswerHeaders, FileMissing, FilesProblem, type Stat } from './files.ts'
import { type Limits, type S3Settings, Sender } from './s3-send.ts'

export const KiB = 1024
export const MiB = 1024 * KiB
export const GiB = 1024 * MiB

/** Work inside the store is answered when it is done: 5 GiB at 50 MB/s take 110 s. */
const workBytesPerMs = 50_000

const sameForMs = 900_000
const signedForSeconds = 3_600

/** As many requests at once as clean-up and joining make; more would only crowd out uploads. */
export const parallel = 8

/** 7.5 s in all. */
const abortAttempts = 5
const abortPauseMs = 500

type Options = { requestTimeout?: number }

export class Bucket {
  readonly name: string
  readonly send: S3Client['send']
  readonly limits: Limits
  readonly #sender: Sender

  constructor(settings: S3Settings) {
    this.name = settings.bucket
    this.#sender = new Sender(settings)
    this.send = this.#sender.send
    this.limits = this.#sender.limits
  }

  /** For what the store does at length by itself with so many bytes. */
  longFor(bytes: number): { requestTimeout: number } {
    return { requestTimeout: this.limits.giveUpMs + Math.ceil(bytes / workBytesPerMs) }
  }

  /** For cleaning up after this error: whoever waits for it has waited for the store already. */
  briefAfter(error: unknown): { requestTimeout?: number } {
    const isUnreachable = error instanceof FilesProblem && error.kind === 'unreachable'
    return isUnreachable ? { requestTimeout: this.limits.cleanUpMs } : {}
  }

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
    const client = this.#sender.asking
    // By the store's clock, as far as ours is known to be wrong.
    const now = Date.now() + client.config.systemClockOffset
    const signingDate = new Date(Math.floor(now / sameForMs) * sameForMs)
    return getSignedUrl(client, command, { expiresIn: signedForSeconds, signingDate })
  }

  async delete(key: string, options: Options = {}): Promise<void> {
    await this.send(new DeleteObjectCommand({ Bucket: this.name, Key: key }), options).catch(unlessMissing)
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

  /** Whether the object was made from this upload. */
  async isFrom(key: string, handle: string, size: number): Promise<boolean> {
    const object = { Bucket: this.name, Key: key }
    const found = await this.send(new HeadObjectCommand(object)).catch(unlessMissing)
    return found?.ContentLength === size && found.Metadata?.upload === handle
  }

  async begin(key: string, handle: string): Promise<string> {
    const upload = { Bucket: this.name, Key: key, Metadata: { upload: handle } }
    const { UploadId } = await this.send(new CreateMultipartUploadCommand(upload))
    if (!UploadId) throw new Error('the store began a multipart upload without an id')
    return UploadId
  }

  /**
   * A part whose request is under way may be stored after the abort. S3 asks to abort again until it lists no parts.
   * With a time limit it is aborted once: what remains is found later.
   */
  async abort(key: string, id: string, options: Options = {}): Promise<void> {
    const upload = { Bucket: this.name, Key: key, UploadId: id }
    for (let attempt = 1; attempt <= abortAttempts; attempt++) {
      await this.send(new AbortMultipartUploadCommand(upload), options).catch(unlessMissing)
      if (options.requestTimeout !== undefined) return
      const left = await this.send(new ListPartsCommand(upload)).catch(unlessMissing)
      if (!left?.Parts?.length) return
      await delay(attempt * abortPauseMs)
    }
    throw new FilesProblem('unreachable', new Error(`parts of ${key} are still being stored`))
  }

  async complete(key: string, id: string, tags: string[], size: number): Promise<void> {
    const parts = tags.map((ETag, i) => ({ ETag, PartNumber: i + 1 }))
    const upload = { Bucket: this.name, Key: key, UploadId: id, MultipartUpload: { Parts: parts } }
    try {
      await this.send(new CompleteMultipartUploadCommand(upload), this.longFor(size))
    } catch (error) {
      // An answer that was lost on the way makes the second attempt find no upload: the size decides.
      if (!(error instanceof FileMissing)) throw error
      const stored = await this.sizeOf(key)
      if (stored !== size)
        throw new FileMissing(`${key} has ${stored ?? 'no'} bytes in the store, not ${size}`)
    }
  }

  close(): void {
    this.#sender.close()
  }
}

function unlessMissing(error: unknown): undefined {
  if (!(error instanceof FileMissing)) throw error
}
