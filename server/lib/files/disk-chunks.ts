import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { type Batch, inBatches, pump } from './body.ts'
import { Claim, noEnd, removeClaim } from './disk-claims.ts'
import { codeOf, copyBytes, ifExists, syncFolder, writeAt } from './disk-io.ts'
import { type Body, type ChunkOptions, FileNotFoundError, type StoredChunk } from './files.ts'

export const batchBytes = 1024 * 1024

/**
 * Chunks up to this size always get a file of their own, even if their offset is known. Copying them later costs less
 * than a claim that every later writer has to read (an upload may have ten thousand tiny parts).
 */
const tinyBytes = 256 * 1024

/** How far ahead a writer claims when it does not know its length: about a second of a fast connection. */
const claimAheadBytes = 8 * 1024 * 1024

const flushBytes = 32 * 1024 * 1024

/** The file that all chunks with a known offset are written to. It becomes the finished file. */
export const wholeFileOf = (folder: string) => join(folder, 'whole')
export const claimsOf = (folder: string) => join(folder, 'claims')

/** A chunk is at an offset of the shared file, or in a file of its own. */
export type ChunkLocation = { at: number; id: string } | { file: string }

/** After a restore, the location may be that of another kind of store. The chunk does not exist then. */
export function parseLocation(folder: string, { location }: StoredChunk): ChunkLocation {
  const [, at, id] = /^at-(\d{1,16})-([0-9a-f]{24})$/.exec(location) ?? []
  if (at !== undefined && id !== undefined) return { at: Number(at), id }
  if (!/^own-[0-9a-f]{24}$/.test(location))
    throw new FileNotFoundError(`"${location.slice(0, 80)}" is not a location of a chunk`)
  return { file: join(folder, location) }
}

/** Writes one chunk to the shared file if possible, and moves it to a file of its own otherwise. */
class ChunkWriter {
  readonly #folder: string
  readonly #length: number | undefined
  readonly #onWritten: ChunkOptions['onWritten']
  #claim: Claim | undefined
  #claimEnd = 0
  #ownFile: string | undefined
  #file: FileHandle | undefined
  #written = 0
  #flushed = 0
  #flushing: Promise<void> | undefined
  #flushError: Error | undefined

  constructor(folder: string, { offset, length, onWritten }: Omit<ChunkOptions, 'order'>) {
    this.#folder = folder
    this.#length = length
    this.#onWritten = onWritten
    if (offset !== undefined) this.#claim = new Claim(claimsOf(folder), offset)
    this.#claimEnd = offset ?? 0
  }

  async write(batch: Batch): Promise<void> {
    if (this.#written === 0 && (!this.#claim || batch.size <= tinyBytes)) await this.#moveToOwnFile()
    const claim = this.#claim
    if (claim && claim.from + this.#written + batch.size > this.#claimEnd)
      await this.#extendClaim(claim, batch.size)
    const file = this.#file
    if (!file) throw new Error('a chunk has no file')
    await writeAt(file, batch, (this.#claim?.from ?? 0) + this.#written)
    this.#written += batch.size
    if (this.#claim) this.#onWritten?.({ from: this.#claim.from, bytes: this.#written })
    this.#startFlush(file)
  }

  /** Starts writing to disk while the rest arrives. Otherwise the system would write everything at the end. */
  #startFlush(file: FileHandle): void {
    if (this.#flushing || this.#written - this.#flushed < flushBytes) return
    this.#flushed = this.#written
    this.#flushing = file
      .datasync()
      // The system reports a lost write only once. The datasync at the end would succeed.
      .catch((error) => {
        this.#flushError ??= error
      })
      .finally(() => {
        this.#flushing = undefined
      })
  }

  async #extendClaim(claim: Claim, size: number): Promise<void> {
    const needed = this.#written + size
    const wanted = claim.from + Math.max(needed, this.#length ?? needed + claimAheadBytes)
    this.#claimEnd = await claim.extendTo(wanted)
    if (this.#claimEnd < claim.from + needed) return this.#moveToOwnFile()
    this.#file ??= await openExisting(wholeFileOf(this.#folder), constants.O_RDWR | constants.O_CREAT)
  }

  async #moveToOwnFile(): Promise<void> {
    await this.#flushing
    const claim = this.#claim
    const whole = this.#file
    // Another writer may use the place from now on.
    if (claim && whole) this.#onWritten?.(undefined)
    this.#ownFile = `own-${randomBytes(12).toString('hex')}`
    this.#file = await openExisting(join(this.#folder, this.#ownFile), 'wx+')
    this.#claim = undefined
    try {
      if (claim && whole)
        await copyBytes(
          { file: whole, position: claim.from },
          { file: this.#file, position: 0 },
          this.#written,
        )
    } finally {
      await whole?.close()
      await claim?.release()
    }
  }

  /** Makes the chunk durable and returns its location. */
  async finish(): Promise<string> {
    if (!this.#file) await this.#moveToOwnFile()
    await this.#flushing
    if (this.#flushError) throw this.#flushError
    await this.#claim?.endAt(this.#claim.from + this.#written)
    const folders = [this.#folder, ...(this.#claim?.folders() ?? [])]
    await Promise.all([this.#file?.datasync(), ...folders.map(syncFolder)])
    await this.#file?.close()
    return this.#claim ? `at-${this.#claim.from}-${this.#claim.id}` : (this.#ownFile ?? '')
  }

  /** Removes everything that was written. Frees the disk space if no other chunk follows in the shared file. */
  async undo(): Promise<void> {
    await this.#flushing
    try {
      if (this.#ownFile) await rm(join(this.#folder, this.#ownFile), { force: true })
      const claim = this.#claim
      if (claim && this.#file && (await claim.extendTo(noEnd)) === noEnd)
        await this.#file.truncate(claim.from)
    } finally {
      await this.#claim?.release()
      await this.#file?.close()
    }
  }
}

async function openExisting(path: string, flags: string | number): Promise<FileHandle> {
  const file = await ifExists(open(path, flags, 0o644))
  if (!file) throw new FileNotFoundError('the upload was removed')
  return file
}

export async function writeChunk(
  folder: string,
  body: Body,
  { signal, ...options }: ChunkOptions,
): Promise<StoredChunk> {
  const writer = new ChunkWriter(folder, options)
  try {
    const size = await pump(inBatches(body, batchBytes, signal), (batch) => writer.write(batch))
    return { location: await writer.finish(), size }
  } catch (error) {
    // What cannot be removed now is removed with the upload. The first error is the one to report.
    await writer.undo().catch(() => {})
    throw codeOf(error) === 'ENOENT'
      ? new FileNotFoundError('the upload was removed', { cause: error })
      : error
  }
}

export async function readChunk(folder: string, chunk: StoredChunk): Promise<Readable> {
  if (chunk.size === 0) return Readable.from([])
  const location = parseLocation(folder, chunk)
  const [path, start] = 'file' in location ? [location.file, 0] : [wholeFileOf(folder), location.at]
  const file = await openExisting(path, constants.O_RDONLY)
  return file.createReadStream({ start, end: start + chunk.size - 1 })
}

export function offsetInWhole(folder: string, chunk: StoredChunk): number | undefined {
  const location = parseLocation(folder, chunk)
  return 'at' in location ? location.at : undefined
}

export async function removeChunk(folder: string, chunk: StoredChunk): Promise<void> {
  const location = parseLocation(folder, chunk)
  if ('file' in location) return rm(location.file, { force: true })
  const range = { from: location.at, to: location.at + chunk.size, id: location.id }
  await removeClaim(claimsOf(folder), range)
}
