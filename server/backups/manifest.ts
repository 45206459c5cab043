import { hash } from 'node:crypto'
import { FileNotFoundError } from '../lib/files/files.ts'
import type { Destination } from './destination/destination.ts'
import { BackupError } from './errors.ts'
import type { Checksum } from './hashing.ts'

/** The layout of a destination that this version writes and reads. */
const format = 1

/** Written first. It tells whose backups the destination contains. */
const markerPath = 'kinora-backup.json'

type Stored = Checksum & { path: string }

/** Describes a backup. It is written last, so a backup without it is not one. */
export type Manifest = {
  format: number
  /** The time of the backup, which sorts as text. */
  id: string
  /** The version of Kinora. */
  version: string
  /** The id of the service, which its file store has, too. */
  service: string
  startedAt: string
  finishedAt: string
  migrations: string[]
  database: Stored
  /** The list of all files. Null if the files are in a bucket that is not part of the backup. */
  files: (Stored & { count: number; bytes: number }) | null
}

export const folderOf = (id: string) => `backups/${id}`
const manifestPath = (id: string) => `${folderOf(id)}/manifest.json`

export const isBackupId = (text: string) => /^\d{8}T\d{9}Z$/.test(text)

/**
 * The time, or just after the last backup if the clock is or was wrong. The last id is that of the last backup in any case,
 * because it is restored, and the first ones are removed.
 */
export async function newBackupId(destination: Destination, now: Date): Promise<string> {
  const last = (await destination.listNames('backups')).findLast(isBackupId)
  const afterLastMs = last === undefined ? 0 : timeOf(last) + 1
  return new Date(Math.max(now.getTime(), afterLastMs)).toISOString().replaceAll(/[-:.]/g, '')
}

/** 0 if there is no such time. */
const timeOf = (id: string) =>
  Date.parse(id.replace(/^(....)(..)(..T..)(..)(..)(...)Z$/, '$1-$2-$3:$4:$5.$6Z')) || 0

/** Rejects if the destination contains the backups of another service, or anything else. */
export async function claimDestination(destination: Destination, service: string): Promise<void> {
  const text = await readText(destination, markerPath)
  const marker = text === undefined ? {} : parseMarker(text)
  if (marker?.format !== undefined) checkFormat(destination, marker.format)
  if (marker?.service === service) return
  // The marker is missing or damaged, but the last backup tells the same.
  const isOurs = (await readManifest(destination).catch(() => undefined))?.service === service
  if (!isOurs && text !== undefined)
    throw new BackupError(`${destination.name} has the backups of another service: choose another folder.`)
  if (!isOurs) await checkEmpty(destination)
  await destination.put(markerPath, bytesOf(`${JSON.stringify({ format, service })}\n`))
}

function parseMarker(text: string): { format?: number; service?: string } | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function checkEmpty(destination: Destination): Promise<void> {
  for (const folder of ['backups', 'files', 'uploads'])
    for await (const _ of destination.list(folder))
      throw new BackupError(
        `${destination.name} has a folder "${folder}" that is not part of a backup: choose another folder.`,
      )
}

/** The ids of all backups, oldest first. */
export async function listBackups(destination: Destination): Promise<string[]> {
  const ids: string[] = []
  for (const id of await destination.listNames('backups')) {
    if (!isBackupId(id)) continue
    // Without its manifest, a backup was interrupted or is being removed.
    for await (const { path } of destination.list(folderOf(id))) if (path === manifestPath(id)) ids.push(id)
  }
  return ids
}

export async function writeManifest(destination: Destination, manifest: Manifest): Promise<void> {
  const checksum = checksumOf(manifest)
  const text = `${JSON.stringify({ ...manifest, checksum }, null, 2)}\n`
  await destination.put(manifestPath(manifest.id), bytesOf(text))
  await destination.flush()
}

/** Without an id, that of the last backup. */
export async function readManifest(destination: Destination, id?: string): Promise<Manifest> {
  const wanted = id ?? (await listBackups(destination)).at(-1)
  if (wanted === undefined) throw new BackupError(`There is no complete backup in ${destination.name}.`)
  const text = isBackupId(wanted) ? await readText(destination, manifestPath(wanted)) : undefined
  if (text === undefined) throw new BackupError(`There is no backup ${wanted} in ${destination.name}.`)
  const { checksum, ...manifest } = parse(text, manifestPath(wanted)) as Manifest & { checksum: string }
  checkFormat(destination, manifest.format)
  if (checksumOf(manifest) !== checksum) throw damaged(manifestPath(wanted))
  return manifest
}

export async function removeBackup(destination: Destination, id: string): Promise<void> {
  await destination.remove(manifestPath(id))
  await destination.flush()
  await destination.remove(folderOf(id))
}

const checksumOf = (manifest: Manifest) => hash('sha256', JSON.stringify(manifest), 'hex')

const damaged = (path: string) => new BackupError(`The backup is damaged: ${path} has changed.`)

function parse(text: string, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw damaged(path)
  }
}

function checkFormat({ name }: Destination, found: number | undefined): void {
  if (found !== format)
    throw new BackupError(`${name} was written by a newer version of Kinora: use that version.`)
}

async function readText(destination: Destination, path: string): Promise<string | undefined> {
  try {
    const parts: Buffer[] = []
    for await (const part of await destination.read(path)) parts.push(part)
    return Buffer.concat(parts).toString('utf8')
  } catch (error) {
    if (error instanceof FileNotFoundError) return undefined
    throw error
  }
}

async function* bytesOf(text: string) {
  yield Buffer.from(text)
}
