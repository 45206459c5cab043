import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, type FileHandle, link, open, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type ChunkLocation, claimsOf, parseLocation, wholeFileOf } from './disk-chunks.ts'
import { listClaims, makeClaim, noEnd } from './disk-claims.ts'
import { copyBytes, ifExists, moveTo, syncFolder } from './disk-io.ts'
import { FileNotFoundError, type StoredChunk, sizeOf } from './files.ts'

/** A chunk with its position in the finished file. */
type PlacedChunk = { size: number; location: ChunkLocation; position: number }

type Upload = { root: string; folder: string; target: string; keepsChunks: boolean }

/** All processes that finish the upload share this claim: it stops new writers, but not other finishers. */
const finishClaim = { from: 0, to: noEnd, id: 'finish' }

export async function finishUpload(
  { root, folder, target, keepsChunks }: Upload,
  chunks: StoredChunk[],
): Promise<void> {
  const size = sizeOf(chunks)
  try {
    const placed = placeChunks(folder, chunks)
    await makeClaim(claimsOf(folder), finishClaim)
    const path = await assemble(folder, placed, size)
    await moveTo(root, keepsChunks ? await duplicate(folder, path) : path, target)
  } catch (error) {
    // Another process may have finished the upload, or this one before it was killed.
    if (!isNotFound(error)) throw error
    if ((await ifExists(stat(target)))?.size !== size)
      throw new FileNotFoundError('a chunk is missing', { cause: error })
    await syncFolder(join(target, '..'))
  }
  if (!keepsChunks) await rm(folder, { recursive: true, force: true, maxRetries: 3 })
}

/** A second name of the file, or a copy on a file system without hard links. Nobody writes to it any more. */
async function duplicate(folder: string, path: string): Promise<string> {
  const duplicated = join(folder, `laid-${randomBytes(12).toString('hex')}`)
  try {
    await link(path, duplicated)
  } catch (error) {
    if (isNotFound(error)) throw error
    await copyFile(path, duplicated, constants.COPYFILE_FICLONE)
    await using file = await open(duplicated, 'r+')
    await file.sync()
  }
  return duplicated
}

function placeChunks(folder: string, chunks: StoredChunk[]): PlacedChunk[] {
  let position = 0
  return chunks.map((chunk) => {
    const placed = { size: chunk.size, location: parseLocation(folder, chunk), position }
    position += chunk.size
    return placed
  })
}

const isNotFound = (error: unknown) =>
  error instanceof FileNotFoundError || (error as NodeJS.ErrnoException).code === 'ENOENT'

/** The path of a durable file that contains all chunks in their order. */
async function assemble(folder: string, chunks: PlacedChunk[], size: number): Promise<string> {
  const [only] = chunks
  if (only && chunks.length === 1 && 'file' in only.location) {
    await checkSize(only.location.file, size)
    return only.location.file
  }
  const misplaced = chunks.filter(({ location, position }) => 'file' in location || location.at !== position)
  const ownIds = new Set([
    finishClaim.id,
    ...chunks.flatMap(({ location }) => ('id' in location ? location.id : [])),
  ])
  // A foreign claim belongs to a process that still writes or was killed. The shared file is then left to the writers.
  const isUnshared = (await listClaims(claimsOf(folder))).every(({ id }) => ownIds.has(id))
  const areOthersInPlace =
    chunks.length > misplaced.length && misplaced.every(({ location }) => 'file' in location)
  if (isUnshared && areOthersInPlace) return assembleInPlace(folder, chunks, misplaced, size)
  return assembleCopy(folder, chunks)
}

async function assembleInPlace(
  folder: string,
  chunks: PlacedChunk[],
  misplaced: PlacedChunk[],
  size: number,
): Promise<string> {
  const path = wholeFileOf(folder)
  await using whole = await open(path, 'r+')
  const needed = Math.max(...chunks.map((each) => ('at' in each.location ? each.location.at + each.size : 0)))
  if ((await whole.stat()).size < needed) throw new FileNotFoundError('a chunk is missing')
  await copyChunks(folder, misplaced, whole)
  await whole.truncate(size)
  await whole.sync()
  return path
}

async function assembleCopy(folder: string, chunks: PlacedChunk[]): Promise<string> {
  const path = join(folder, `laid-${randomBytes(12).toString('hex')}`)
  try {
    await using file = await open(path, 'wx')
    await copyChunks(folder, chunks, file)
    await file.sync()
  } catch (error) {
    await rm(path, { force: true })
    throw error
  }
  return path
}

async function copyChunks(folder: string, chunks: PlacedChunk[], target: FileHandle): Promise<void> {
  for (const { size, location, position } of chunks) {
    const [path, start] = 'file' in location ? [location.file, 0] : [wholeFileOf(folder), location.at]
    await using file = await open(path, constants.O_RDONLY)
    await copyBytes({ file, position: start }, { file: target, position }, size)
  }
}

async function checkSize(path: string, size: number): Promise<void> {
  const found = await stat(path)
  if (found.size !== size) throw new Error(`a chunk of ${size} bytes has ${found.size} on disk`)
}
