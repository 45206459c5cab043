import type { Readable } from 'node:stream'
import type { Held } from './hot.ts'

/** `place` is the driver's own word for where the bytes are. */
export type Piece = { place: string; size: number }

export type Body = AsyncIterable<Buffer>

export type Stat = { size: number; modified: Date }

/** What a store says of a file that it gives out by itself. */
export type AnswerHeaders = { type: string; cacheControl: string; disposition: string | undefined }

/** In memory, or open and just read: the descriptor of a file that can be sent at once. */
export type HotFile = Buffer | number
/** What is larger is read as it is sent. */
export const mostHotBytes = 4 * 1024 * 1024

export type Files = {
  /** Fails when nothing could be stored. */
  check(): Promise<void>

  /**
   * Both ends of the range are included, as in HTTP; what lies past the end of the file is left out. Rejects with
   * FileMissing.
   */
  read(key: string, range?: { from: number; to: number }): Promise<Readable>
  /**
   * A small file that many may ask for at once; to be released. Only of files that never change under their key.
   * Undefined where it is not so small, or not of that size: then it is to be read. So is one that is not in memory
   * where no descriptor can be taken.
   */
  hold(key: string, size: number, canTakeFile: boolean): Promise<Held<HotFile> | undefined>
  /** Where another program can open the file, if it is on this machine's disk. */
  pathOf(key: string): string | undefined
  /** Where anyone can get the file for an hour, if the store is to be asked directly. */
  addressOf?(key: string, answer: AnswerHeaders): Promise<string>
  stat(key: string): Promise<Stat | undefined>
  /** Appears whole or not at all; durable when resolved. */
  put(key: string, body: Body | Buffer): Promise<{ size: number }>
  /** The bytes do not pass through this process. */
  copy(from: string, to: string): Promise<void>
  /** The keys of all files below `prefix/`. Reports empty folders where the store has folders. */
  list(prefix: string, onEmptyFolder?: (folder: string) => void): AsyncIterable<string>
  /** Names of what is directly below `prefix/`: the first `limit` after `after`, sorted. For names of one length. */
  listNames(prefix: string, after: string, limit: number): Promise<string[]>
  /** The file, or everything below `prefix/`; absent is fine. */
  remove(prefix: string): Promise<void>
  /** Removes the folder if it is still empty, and the folders above it that are empty then. */
  removeEmptyFolder(folder: string): Promise<void>

  /** Of one file that arrives in pieces, in any order, from several processes at once. The handle is to be stored. */
  beginUpload(key: string): Promise<string>
  /** Whether pieces can be written to the upload; true where nothing has to be made for it. */
  hasUpload(handle: string): Promise<boolean>
  /**
   * Durable when resolved; on failure nothing of it counts. `offset` is where it belongs, as far as known: a wrong
   * one costs a copy at the end, never bytes. `order` sorts pieces. `length` is how long it will be, if known.
   */
  writePiece(
    handle: string,
    order: number,
    offset: number | undefined,
    body: Body,
    signal?: AbortSignal,
    length?: number,
  ): Promise<Piece>
  /** Until the upload is finished; then FileMissing. */
  readPiece(handle: string, piece: Piece): Promise<Readable>
  /** A piece that was refused after all; its place may be written again. */
  removePiece(handle: string, piece: Piece): Promise<void>
  /** Pieces in their order. Afterwards the file is there whole and the handle is gone. May be called again at any time. */
  finishUpload(handle: string, key: string, pieces: Piece[]): Promise<{ size: number }>
  /** Removes whatever there is; an unknown handle is fine. */
  abandonUpload(handle: string): Promise<void>
  /** Uploads that are not finished, and remains of writes that a crash cut off, with the time of the last write. */
  listUploads(): AsyncIterable<{ handle: string; modified: Date }>
  /**
   * Aborts multipart uploads below these prefixes that no process works on any more. Their parts take up space and
   * appear in no list of files. The keys that they were meant for.
   */
  abortUnfinished(prefixes: string[], now: Date): Promise<string[]>
  close(): Promise<void>
}

/** No such file, upload or piece. */
export class FileMissing extends Error {}

/** The store cannot do its work now; the client is told to come back. */
export class FilesProblem extends Error {
  readonly kind: 'full' | 'unreachable' | 'refused'
  constructor(kind: FilesProblem['kind'], cause: unknown) {
    const reason = cause instanceof Error ? cause.message || cause.name : String(cause)
    super(
      `the file store is ${{ full: 'full', unreachable: 'not reachable', refused: 'closed to us' }[kind]}: ${reason}`,
      {
        cause,
      },
    )
    this.kind = kind
  }
}

/** 255 bytes is what a folder's entry may have; S3 takes 1,024 for the whole. Names with a dot in front are the drivers'. */
const segment = '[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}'
const keyPattern = new RegExp(`^${segment}(?:/${segment}){0,15}$`)

export function checkKey(key: string): string {
  if (key.length > 900 || !keyPattern.test(key))
    throw new Error(`"${key.slice(0, 80)}" is not a key of a file`)
  return key
}

/** Handles of former versions do not name their owner. */
const handlePattern = /^(?:[0-9a-f]{12}-\d{1,10}-\d{1,20}\.)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export const isHandle = (text: string) => handlePattern.test(text)

export const sizeOf = (pieces: { size: number }[]) => pieces.reduce((sum, { size }) => sum + size, 0)
