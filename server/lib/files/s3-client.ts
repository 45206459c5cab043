import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  type S3Client,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { inParallel } from '../parallel.ts'
import { type AnswerHeaders, FileMissing, FilesProblem } from './files.ts'
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

  async sizeOf(key: string): Promise<number | undefined> {
    try {
      const { ContentLength } = await this.send(new HeadObjectCommand({ Bucket: this.name, Key: key }))
      return ContentLength ?? 0
    } catch (error) {
      if (error instanceof FileMissing) return undefined
      throw error
    }
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

  async abort(key: string, id: string, options: Options = {}): Promise<void> {
    const upload = { Bucket: this.name, Key: key, UploadId: id }
    await this.send(new AbortMultipartUploadCommand(upload), options).catch(unlessMissing)
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

function unlessMissing(error: unknown): void {
  if (!(error instanceof FileMissing)) throw error
}
