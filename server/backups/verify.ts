import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { FileNotFoundError } from '../lib/files/files.ts'
import { inParallel } from '../lib/parallel.ts'
import type { Destination } from './destination/destination.ts'
import { type Entry, readEntries } from './entries.ts'
import { type Checksum, checksumOf } from './hashing.ts'
import type { Manifest } from './manifest.ts'
import { Progress } from './progress.ts'

/** A file of a backup that is not as it was written. */
export type Problem = { kind: 'missing' | 'damaged'; path: string }

const filesAtOnce = 4

/** Reads every byte of a backup. Returns what is missing or damaged. */
export async function verifyBackup(
  destination: Destination,
  manifest: Manifest,
  onProgress?: (progress: Progress) => void,
): Promise<Problem[]> {
  const progress = new Progress(onProgress)
  const problems: Problem[] = []
  const check = async (expected: Checksum & { path: string }) => {
    const kind = await findProblem(destination, expected, progress)
    if (kind) problems.push({ kind, path: expected.path })
    return kind === undefined
  }
  await check(manifest.database)
  // A damaged list names no files.
  if (manifest.files && (await check(manifest.files)))
    await inParallel(readFileList(destination, manifest), filesAtOnce, check)
  return problems
}

async function findProblem(
  destination: Destination,
  { path, size, sha256 }: Checksum & { path: string },
  progress: Progress,
): Promise<Problem['kind'] | undefined> {
  try {
    const found = await checksumOf(await destination.read(path), (bytes) => progress.addBytes(bytes))
    progress.addFile(size)
    return found.size === size && found.sha256 === sha256 ? undefined : 'damaged'
  } catch (error) {
    if (error instanceof FileNotFoundError) return 'missing'
    throw error
  }
}

/** Whether the list of files is as it was written. */
export async function hasIntactList(destination: Destination, { files }: Manifest): Promise<boolean> {
  return files !== null && (await findProblem(destination, files, new Progress())) === undefined
}

/** All files of a backup, sorted by group. */
export async function* readFileList(destination: Destination, { files }: Manifest): AsyncGenerator<Entry> {
  if (!files) return
  yield* readEntries(await openCompressed(destination, files.path))
}

/** An error of the source ends the result, too. */
export async function openCompressed(destination: Destination, path: string) {
  return pipeline(await destination.read(path), createGunzip(), () => {})
}
