import type { DiskSpace } from '../disk-space.ts'
import { type Body, buffersOf, type Files } from './files.ts'

const sumOf = (buffers: readonly Buffer[]) => buffers.reduce((sum, { length }) => sum + length, 0)

/** A store on a disk that leaves its reserve free: it refuses new uploads, and then everything that is written. */
export function withReserve(files: Files, space: DiskSpace): Files {
  async function* guarded(body: Body): AsyncGenerator<Buffer> {
    for await (const bytes of body) {
      space.checkWrite(bytes.length)
      yield bytes
    }
  }
  return {
    ...files,
    async put(key, body) {
      const buffers = buffersOf(body)
      if (!buffers) return files.put(key, guarded(body as Body))
      space.checkWrite(sumOf(buffers))
      return files.put(key, body)
    },
    async copy(from, to) {
      // Some file systems share the blocks of a copy, but do not say so in advance.
      space.checkWrite((await files.stat(from))?.size ?? 0)
      await files.copy(from, to)
    },
    async beginUpload(key) {
      space.checkNew()
      return files.beginUpload(key)
    },
    async writeChunk(handle, body, options) {
      space.checkNew()
      return files.writeChunk(handle, guarded(body), options)
    },
  }
}
