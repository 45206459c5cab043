import { type FileHandle, open, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { ClientError } from './client.ts'

export class FileChangedError extends ClientError {}

/** A file when the command checked it: its name as the user wrote it, path, size and modification time. */
export type LocalFile = { name: string; path: string; size: number; mtimeMs: number }

/** Throws if the file cannot be uploaded. */
export async function checkFile(name: string): Promise<LocalFile> {
  const path = resolvePath(name)
  const found = await readOrThrow({ name }, () => stat(path))
  if (!found.isFile()) throw new ClientError(`${name} is not a file.`)
  if (found.size === 0) throw new ClientError(`${name} is empty.`)
  await readOrThrow({ name }, async () => (await open(path)).close())
  return { name, path, size: found.size, mtimeMs: found.mtimeMs }
}

/** npm runs its scripts in the folder of the package. The user means the folder in which npm was called. */
function resolvePath(name: string): string {
  const { INIT_CWD, npm_lifecycle_event } = process.env
  return npm_lifecycle_event === 'kinora' && INIT_CWD ? resolve(INIT_CWD, name) : resolve(name)
}

export function readOrThrow<T>({ name }: { name: string }, work: () => Promise<T>): Promise<T> {
  return work().catch((error) => {
    const { code, message } = error as NodeJS.ErrnoException
    // A path that leads through a file does not exist either.
    if (code === 'ENOENT' || code === 'ENOTDIR') throw new ClientError(`No such file: ${name}`)
    const reason = code === 'EACCES' ? 'permission denied' : message
    throw new ClientError(`${name} cannot be read: ${reason}.`)
  })
}

export async function checkUnchanged(file: LocalFile, handle: FileHandle): Promise<void> {
  const found = await readOrThrow(file, () => handle.stat())
  if (found.size === file.size && found.mtimeMs === file.mtimeMs) return
  throw new FileChangedError(`${file.name} has changed since its upload began.`)
}
