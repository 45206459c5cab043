import type { Readable } from 'node:stream'
import type { Acquired } from './open-file-cache.ts'

/** A chunk of an upload in the store. Each driver has its own format for `location`. */
export type StoredChunk = { location: string; size: number }

export type Body = AsyncIterable<Buffer>

export type Stat = { size: number; modified: Date }

/** Headers that a store sends with a file that clients download directly from the store. */
export type ResponseHeaders = { type: string; cacheControl: string; disposition: string | undefined }

/** The content in memory, or the descriptor of an open file whose content is in the system's page cache. */
export type CachedFile = Buffer | number
/** Larger files are not cached. They are read while they are sent. */
export const maxCachedBytes = 4 * 1024 * 1024

export type ChunkOptions = {
  /** Chunks are sorted by it. */
  order: number
  /** Where the chunk belongs in the file, if known. A wrong offset costs a copy at the end, but never data. */
  offset?: number | undefined
  /** How long the chunk will be, if known. */
  length?: number | undefined
  signal?: AbortSignal | undefined
  /** Called when more of the chunk can be read from `pathOfUpload`, or nothing of it any more. */
  onWritten?: ((place: WrittenPlace | undefined) => void) | undefined
}

/** Bytes of an unfinished chunk, at their place in the file that `pathOfUpload` returns. */
export type WrittenPlace = { from: number; bytes: number }

export type Files = {
  /** Rejects when nothing can be stored. */
  check(): Promise<void>

  /**
   * Both ends of the range are inclusive, as in HTTP. Bytes past the end of the file are left out. Rejects with
   * FileNotFoundError.
   */
  read(key: string, range?: { from: number; to: number }): Promise<Readable>
  /**
   * A small file that many clients may request at the same time. The caller must release it. Only for files that never
   * change under their key. Undefined when the file must be read instead: it is too large, it does not have the given
   * size, or it is not in memory and the caller cannot use a descriptor.
   */
  acquire(key: string, size: number, acceptsDescriptor: boolean): Promise<Acquired<CachedFile> | undefined>
  /** The path under which another program can open the file. Undefined when it is not on a local disk. */
  pathOf(key: string): string | undefined
  /** A URL from which anyone can download the file for an hour. Only when downloads are redirected to the store. */
  signedUrl?(key: string, headers: ResponseHeaders): Promise<string>
  stat(key: string): Promise<Stat | undefined>
  /** The file appears complete or not at all. It is durable when the promise resolves. */
  put(key: string, body: Body | Buffer | readonly Buffer[]): Promise<{ size: number }>
  /** The bytes do not pass through this process. */
  copy(from: string, to: string): Promise<void>
  /** The keys of all files below `prefix/`. Reports empty folders where the store has folders. */
  list(prefix: string, onEmptyFolder?: (folder: string) => void): AsyncIterable<string>
  /** Like `list`, with the sizes. */
  listSizes(prefix: string): AsyncIterable<{ key: string; size: number }>
  /** The first `limit` names after `after` directly below `prefix/`, sorted. They contain only letters, digits and `_`. */
  listNames(prefix: string, after: string, limit: number): Promise<string[]>
  /** Removes the file, or everything below `prefix/`. Does nothing when there is neither. */
  remove(prefix: string): Promise<void>
  /** Removes the folder if it is still empty, and then each parent folder that has become empty. */
  removeEmptyFolder(folder: string): Promise<void>

  /** Begins a file that arrives in chunks, in any order and from several processes. Returns a handle to store. */
  beginUpload(key: string): Promise<string>
  /** Whether chunks can be written to the upload. Always true where nothing has to be created for it. */
  hasUpload(handle: string): Promise<boolean>
  /** The chunk is durable when the promise resolves. A failed write leaves nothing behind. */
  writeChunk(handle: string, body: Body, options: ChunkOptions): Promise<StoredChunk>
  /** Rejects with FileNotFoundError once the upload is finished. */
  readChunk(handle: string, chunk: StoredChunk): Promise<Readable>
  /**
   * The path under which another program can read what has arrived of an upload. Other places of the file are holes, or end
   * it. Undefined when the chunks are not on a local disk.
   */
  pathOfUpload(handle: string): string | undefined
  /** Where the bytes of a chunk begin in that file. Undefined when they are not in it. */
  offsetInUpload(handle: string, chunk: StoredChunk): number | undefined
  /** Removes a chunk that was rejected. Another chunk can be written to its location. */
  removeChunk(handle: string, chunk: StoredChunk): Promise<void>
  /**
   * Joins the chunks in the given order to one file and removes the upload, unless it is to be kept for a backup. Can be
   * called again at any time.
   */
  finishUpload(
    handle: string,
    key: string,
    chunks: StoredChunk[],
    options?: { keepsChunks: boolean },
  ): Promise<{ size: number }>
  /** Removes everything that belongs to the upload. Does nothing for an unknown handle. */
  abandonUpload(handle: string): Promise<void>
  /** Unfinished uploads, and files of writes that a crash interrupted, with the time of the last write. */
  listUploads(): AsyncIterable<{ handle: string; modified: Date }>
  /**
   * Aborts multipart uploads below these prefixes that no process works on. Their parts take up space and appear in no
   * list of files. Returns the keys of the objects that they would have become.
   */
  abortOrphanedUploads(prefixes: string[], now: Date): Promise<string[]>
  close(): Promise<void>
}

/** There is no such file, upload or chunk. */
export class FileNotFoundError extends Error {}

const kindMessages = { full: 'full', unreachable: 'not reachable', refused: 'denying access' } as const

/** The store does not work at the moment. Clients are told to try again. */
export class FileStoreError extends Error {
  readonly kind: keyof typeof kindMessages
  constructor(kind: FileStoreError['kind'], cause: unknown) {
    const reason = cause instanceof Error ? cause.message || cause.name : String(cause)
    // The log appends the entire message of the cause.
    super(`the file store is ${kindMessages[kind]}: ${reason.split('\n', 1)[0]}`, { cause })
    this.kind = kind
  }
}

/**
 * File systems allow 255 bytes for a name, and S3 allows 1,024 for a key. Names that begin with a dot are reserved for
 * the drivers.
 */
const segment = '[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}'
const keyPattern = new RegExp(`^${segment}(?:/${segment}){0,15}$`)

/** Operators and their tools may have put other files into the store. */
export const isKey = (text: string) => text.length <= 900 && keyPattern.test(text)

export function checkKey(key: string): string {
  if (!isKey(key)) throw new Error(`"${key.slice(0, 80)}" is not a key of a file`)
  return key
}

/** Handles of earlier versions do not contain their owner. */
const handlePattern = /^(?:[0-9a-f]{12}-\d{1,10}-\d{1,20}\.)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export const isHandle = (text: string) => handlePattern.test(text)

export function checkHandle(handle: string): string {
  if (!isHandle(handle)) throw new FileNotFoundError(`there is no upload "${handle.slice(0, 80)}"`)
  return handle
}

export const sizeOf = (chunks: { size: number }[]) => chunks.reduce((sum, { size }) => sum + size, 0)

/** The buffers of a body that is in memory. Undefined for others. */
export function buffersOf(body: Body | Buffer | readonly Buffer[]): readonly Buffer[] | undefined {
  if (Buffer.isBuffer(body)) return [body]
  return Array.isArray(body) ? body : undefined
}

/** Buffers as a body. */
export async function* bodyOf(buffers: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* buffers
}
