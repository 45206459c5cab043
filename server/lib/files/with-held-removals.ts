import type { Files } from './files.ts'

/**
 * Runs the work while no backup can begin to copy files. Returns false without running it if one copies at the moment.
 */
export type UnlessHeld = (work: () => Promise<unknown>) => Promise<boolean>

/**
 * A store that keeps its files while a backup copies them: the backup contains rows that refer to files which are not
 * needed any more. A file that is kept is an orphan, which the sweep removes later.
 */
export function withHeldRemovals(files: Files, unlessHeld: UnlessHeld): Files {
  return {
    ...files,
    async remove(prefix) {
      await unlessHeld(() => files.remove(prefix))
    },
    async removeChunk(handle, chunk) {
      await unlessHeld(() => files.removeChunk(handle, chunk))
    },
    async abandonUpload(handle) {
      await unlessHeld(() => files.abandonUpload(handle))
    },
    async finishUpload(handle, key, chunks) {
      // A remote store joins for minutes. The lock takes a connection to the database, and only the removal needs it.
      if (files.pathOf(key) === undefined) {
        const joined = await files.finishUpload(handle, key, chunks, { keepsChunks: true })
        await unlessHeld(() => files.abandonUpload(handle))
        return joined
      }
      let result: { size: number } | undefined
      await unlessHeld(async () => {
        result = await files.finishUpload(handle, key, chunks)
      })
      return result ?? files.finishUpload(handle, key, chunks, { keepsChunks: true })
    },
  }
}
