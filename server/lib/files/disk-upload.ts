import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { type Batch, inBatches, pump } from './body.ts'
import { Claim, noEnd, removeClaim } from './disk-claims.ts'
import { codeOf, copyBytesTo, ifThere, syncFolder, writeAt } from './disk-io.ts'
import { type Body, FileMissing, type Piece } from './files.ts'

export const batchBytes = 1024 * 1024

/**
 * Up to here a piece is a file of its own also where its offset is known: copying it costs less than a claim that
 * every later piece has to look at (ten thousand tiny parts).
 */
const tinyBytes = 256 * 1024

/** How far ahead a writer claims that was not told its length: room for a second of a fast connection. */
const windowBytes = 8 * 1024 * 1024

const flushBytes = 32 * 1024 * 1024

export const wholeOf = (folder: string) => join(folder, 'whole')
export const claimsOf = (folder: string) => join(folder, 'claims')

/** Where a piece is: at an offset of the whole, or in a file of its own. */
export type Place = { at: number; id: string } | { file: string }

export function readPlace(folder: string, { place }: Piece): Place {
  const [, at, id] = /^at-(\d{1,16})-([0-9a-f]{24})$/.exec(place) ?? []
  if (at !== undefined && id !== undefined) return { at: Number(at), id }
  if (!/^own-[0-9a-f]{24}$/.test(place)) throw new Error(`"${place.slice(0, 80)}" is not a place of a piece`)
  return { file: join(folder, place) }
}

/** One piece that is being written; begins in the whole where it can, and moves into a file of its own where it must. */
class PieceWriter {
  readonly #folder: string
  readonly #length: number | undefined
  #claim: Claim | undefined
  #reach = 0
  #own: string | undefined
  #file: FileHandle | undefined
  #written = 0
  #flushed = 0
  #flushing: Promise<void> | undefined
  #lost: Error | undefined

  constructor(folder: string, offset: number | undefined, length: number | undefined) {
    this.#folder = folder
    this.#length = length
    if (offset !== undefined) this.#claim = new Claim(claimsOf(folder), offset)
    this.#reach = offset ?? 0
  }

  async write(batch: Batch): Promise<void> {
    if (this.#written === 0 && (!this.#claim || batch.size <= tinyBytes)) await this.#moveOut()
    const claim = this.#claim
    if (claim && claim.from + this.#written + batch.size > this.#reach) await this.#goOn(claim, batch.size)
    const file = this.#file
    if (!file) throw new Error('a piece has no file')
    await writeAt(file, batch, (this.#claim?.from ?? 0) + this.#written)
    this.#written += batch.size
    this.#startFlush(file)
  }

  /** The disk begins while the rest still comes; left alone, it would begin with all of it at the end. */
  #startFlush(file: FileHandle): void {
    if (this.#flushing || this.#written - this.#flushed < flushBytes) return
    this.#flushed = this.#written
    this.#flushing = file
      .datasync()
      // The system tells a lost write once: the datasync at the end would know nothing of it.
      .catch((error) => {
        this.#lost ??= error
      })
      .finally(() => {
        this.#flushing = undefined
      })
  }

  async #goOn(claim: Claim, size: number): Promise<void> {
    const needed = this.#written + size
    const wanted = claim.from + Math.max(needed, this.#length ?? needed + windowBytes)
    this.#reach = await claim.reach(wanted)
    if (this.#reach < claim.from + needed) return this.#moveOut()
    this.#file ??= await openThere(wholeOf(this.#folder), constants.O_RDWR | constants.O_CREAT)
  }

  async #moveOut(): Promise<void> {
    await this.#flushing
    const claim = this.#claim
    const whole = this.#file
    this.#own = `own-${randomBytes(12).toString('hex')}`
    this.#file = await openThere(join(this.#folder, this.#own), 'wx+')
    this.#claim = undefined
    try {
      if (claim && whole) await copyBytesTo(whole, claim.from, this.#file, 0, this.#written)
    } finally {
      await whole?.close()
      await claim?.release()
    }
  }

  /** Its place, once all of it is on disk. */
  async finish(): Promise<string> {
    if (!this.#file) await this.#moveOut()
    await this.#flushing
    if (this.#lost) throw this.#lost
    await this.#claim?.end(this.#claim.from + this.#written)
    const folders = [this.#folder, ...(this.#claim?.folders() ?? [])]
    await Promise.all([this.#file?.datasync(), ...folders.map(syncFolder)])
    await this.#file?.close()
    return this.#claim ? `at-${this.#claim.from}-${this.#claim.id}` : (this.#own ?? '')
  }

  /** As if it had never been begun; also the disk's space comes back where nobody has written behind it. */
  async undo(): Promise<void> {
    await this.#flushing
    try {
      if (this.#own) await rm(join(this.#folder, this.#own), { force: true })
      const claim = this.#claim
      if (claim && this.#file && (await claim.reach(noEnd)) === noEnd) await this.#file.truncate(claim.from)
    } finally {
      await this.#claim?.release()
      await this.#file?.close()
    }
  }
}

async function openThere(path: string, flags: string | number): Promise<FileHandle> {
  const file = await ifThere(open(path, flags, 0o644))
  if (!file) throw new FileMissing('the upload is gone')
  return file
}

export async function writePiece(
  folder: string,
  offset: number | undefined,
  body: Body,
  signal: AbortSignal | undefined,
  length: number | undefined,
): Promise<Piece> {
  const writer = new PieceWriter(folder, offset, length)
  try {
    const size = await pump(inBatches(body, batchBytes, signal), (batch) => writer.write(batch))
    return { place: await writer.finish(), size }
  } catch (error) {
    // What cannot be cleared away now goes with the upload; the first error is the one that tells.
    await writer.undo().catch(() => {})
    throw codeOf(error) === 'ENOENT' ? new FileMissing('the upload is gone', { cause: error }) : error
  }
}

export async function readPiece(folder: string, piece: Piece): Promise<Readable> {
  if (piece.size === 0) return Readable.from([])
  const place = readPlace(folder, piece)
  const [path, start] = 'file' in place ? [place.file, 0] : [wholeOf(folder), place.at]
  const file = await openThere(path, constants.O_RDONLY)
  return file.createReadStream({ start, end: start + piece.size - 1 })
}

export async function removePiece(folder: string, piece: Piece): Promise<void> {
  const place = readPlace(folder, piece)
  if ('file' in place) await rm(place.file, { force: true })
  else await removeClaim(claimsOf(folder), { from: place.at, to: place.at + piece.size, id: place.id })
}
