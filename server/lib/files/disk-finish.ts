import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { open, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { listClaims, makeClaim, noEnd } from './disk-claims.ts'
import { copyBytesTo, ifThere, moveTo, syncFolder } from './disk-io.ts'
import { claimsOf, type Place, readPlace, wholeOf } from './disk-upload.ts'
import { FileMissing, type Piece, sizeOf } from './files.ts'

type Laid = { piece: Piece; place: Place; at: number }

/** One name for all who finish: it stops new writers, not each other. */
const finisher = { from: 0, to: noEnd, id: 'finish' }

export async function finishUpload(
  root: string,
  folder: string,
  target: string,
  pieces: Piece[],
): Promise<void> {
  const size = sizeOf(pieces)
  let at = 0
  const laid = pieces.map((piece): Laid => {
    at += piece.size
    return { piece, place: readPlace(folder, piece), at: at - piece.size }
  })
  try {
    await makeClaim(claimsOf(folder), finisher)
    await moveTo(root, await assemble(folder, laid, size), target)
  } catch (error) {
    // It may have been finished before, by a process that was killed or is faster.
    if (!isMissing(error) || (await ifThere(stat(target)))?.size !== size) throw error
    await syncFolder(join(target, '..'))
  }
  await rm(folder, { recursive: true, force: true, maxRetries: 3 })
}

const isMissing = (error: unknown) =>
  error instanceof FileMissing || (error as NodeJS.ErrnoException).code === 'ENOENT'

/** The path of the file that has all pieces in their order, on disk. */
async function assemble(folder: string, laid: Laid[], size: number): Promise<string> {
  const [only] = laid
  if (only && laid.length === 1 && 'file' in only.place) {
    await checkSize(only.place.file, size)
    return only.place.file
  }
  const moved = laid.filter(({ place, at }) => 'file' in place || place.at !== at)
  const ids = new Set(laid.map(({ place }) => ('id' in place ? place.id : finisher.id)).concat(finisher.id))
  // Somebody else may still be writing, or was killed: the file that all writers hold open is then left to them.
  const isOurs = (await listClaims(claimsOf(folder))).every(({ id }) => ids.has(id))
  if (isOurs && laid.length > moved.length && moved.every(({ place }) => 'file' in place)) {
    return layInPlace(folder, moved, laid, size)
  }
  return layAnew(folder, laid)
}

async function layInPlace(folder: string, moved: Laid[], laid: Laid[], size: number): Promise<string> {
  const path = wholeOf(folder)
  await using whole = await open(path, 'r+')
  const needed = Math.max(...laid.map(({ piece, place }) => ('at' in place ? place.at + piece.size : 0)))
  if ((await whole.stat()).size < needed) throw new FileMissing('a piece is not there')
  await copyAll(folder, moved, whole)
  await whole.truncate(size)
  await whole.sync()
  return path
}

async function layAnew(folder: string, laid: Laid[]): Promise<string> {
  const path = join(folder, `laid-${randomBytes(12).toString('hex')}`)
  try {
    await using file = await open(path, 'wx')
    await copyAll(folder, laid, file)
    await file.sync()
  } catch (error) {
    await rm(path, { force: true })
    throw error
  }
  return path
}

async function copyAll(folder: string, laid: Laid[], to: Awaited<ReturnType<typeof open>>): Promise<void> {
  for (const { piece, place, at } of laid) {
    await using from = await open('file' in place ? place.file : wholeOf(folder), constants.O_RDONLY)
    await copyBytesTo(from, 'file' in place ? 0 : place.at, to, at, piece.size)
  }
}

async function checkSize(file: string, size: number): Promise<void> {
  const there = await stat(file)
  if (there.size !== size) throw new Error(`a piece of ${size} bytes has ${there.size} on disk`)
}
