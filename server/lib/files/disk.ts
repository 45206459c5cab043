import { type FileHandle, mkdir, readdir, rm, stat } from 'node:fs/promises'
import { newOwnedName } from '../owner.ts'
import { finishUpload } from './disk-assemble.ts'
import { claimsOf, offsetInWhole, readChunk, removeChunk, wholeFileOf, writeChunk } from './disk-chunks.ts'
import { checkDisk, copyKey, openCached, putFile, readFile, removeFiles, statFile } from './disk-files.ts'
import { ifExists, makeFolder, removeEmptyFolders, withStoreErrors } from './disk-io.ts'
import { listFiles, listFirstNames, listSizes } from './disk-list.ts'
import { DiskPaths } from './disk-paths.ts'
import { checkKey, type Files, isHandle, maxCachedBytes, sizeOf } from './files.ts'
import { OpenFileCache } from './open-file-cache.ts'

const maxOpenFiles = 256

export async function openDiskFiles(root: string): Promise<Files> {
  await mkdir(root, { recursive: true })
  const paths = new DiskPaths(root)
  const cache = new OpenFileCache<FileHandle>({
    open: (key, size) => withStoreErrors(() => openCached(paths, key, size)),
    // The file was only read, so an error on close loses nothing.
    close: (file) => void file.close().catch(() => {}),
    weightOf: () => 1,
    maxWeight: maxOpenFiles,
  })

  return {
    check: () => withStoreErrors(() => checkDisk(paths)),
    read: (key, range) => withStoreErrors(() => readFile(paths, key, range)),
    async acquire(key, size, acceptsDescriptor) {
      if (!acceptsDescriptor || size > maxCachedBytes) return undefined
      const acquired = await cache.acquire(key, size)
      return acquired && { value: acquired.value.fd, release: acquired.release }
    },
    pathOf: (key) => paths.pathOf(key),
    stat: (key) => withStoreErrors(() => statFile(paths, key)),
    put: (key, body) => withStoreErrors(() => putFile(paths, key, body)),
    copy: (from, to) => withStoreErrors(() => copyKey(paths, from, to)),
    list: (prefix, onEmptyFolder) => listFiles(root, checkKey(prefix), onEmptyFolder),
    listSizes: (prefix) => listSizes(root, checkKey(prefix)),
    listNames: (prefix, after, limit) =>
      withStoreErrors(() => listFirstNames(paths.pathOf(prefix), after, limit)),
    remove: (prefix) => withStoreErrors(() => removeFiles(paths, prefix)),
    removeEmptyFolder: (folder) => withStoreErrors(() => removeEmptyFolders(root, paths.pathOf(folder))),

    beginUpload: (key) => withStoreErrors(() => beginUpload(paths, key)),
    hasUpload: (handle) => withStoreErrors(() => hasUpload(paths, handle)),
    writeChunk: (handle, body, options) =>
      withStoreErrors(() => writeChunk(paths.folderOf(handle), body, options)),
    readChunk: (handle, chunk) => withStoreErrors(() => readChunk(paths.folderOf(handle), chunk)),
    pathOfUpload: (handle) => wholeFileOf(paths.folderOf(handle)),
    offsetInUpload: (handle, chunk) => offsetInWhole(paths.folderOf(handle), chunk),
    removeChunk: (handle, chunk) => withStoreErrors(() => removeChunk(paths.folderOf(handle), chunk)),
    finishUpload: (handle, key, chunks, { keepsChunks } = { keepsChunks: false }) =>
      withStoreErrors(async () => {
        const target = paths.pathOf(key)
        await finishUpload({ root, folder: paths.folderOf(handle), target, keepsChunks }, chunks)
        return { size: sizeOf(chunks) }
      }),
    abandonUpload: (handle) => withStoreErrors(() => abandonUpload(paths, handle)),
    listUploads: () => listUploads(paths),
    // A disk has no multipart uploads.
    abortOrphanedUploads: async () => [],

    async close() {
      cache.close()
    },
  }
}

async function beginUpload(paths: DiskPaths, key: string): Promise<string> {
  checkKey(key)
  const handle = newOwnedName()
  await makeFolder(paths.root, claimsOf(paths.folderOf(handle)))
  return handle
}

async function hasUpload(paths: DiskPaths, handle: string): Promise<boolean> {
  return (await ifExists(stat(claimsOf(paths.folderOf(handle))))) !== undefined
}

async function abandonUpload(paths: DiskPaths, handle: string): Promise<void> {
  if (isHandle(handle)) await rm(paths.folderOf(handle), { recursive: true, force: true, maxRetries: 3 })
}

async function* listUploads(paths: DiskPaths): AsyncGenerator<{ handle: string; modified: Date }> {
  for (const handle of (await ifExists(readdir(paths.uploads))) ?? []) {
    if (!isHandle(handle)) continue
    const folder = paths.folderOf(handle)
    const stats = [folder, claimsOf(folder), wholeFileOf(folder)].map((path) => ifExists(stat(path)))
    const modifiedMs = Math.max(...(await Promise.all(stats)).map((found) => found?.mtimeMs ?? 0))
    if (modifiedMs > 0) yield { handle, modified: new Date(modifiedMs) }
  }
}
