import type { DiskSpace } from '../disk-space.ts'
import { type Body, buffersOf, type Files } from './files.ts'

/** A store on a disk that leaves its reserve free: it refuses new uploads, and then everything that is written. */
export function withReserve(files: Files, space: DiskSpace): Files {
  async function* guarded(body: Body): AsyncGenerator<Buffer> {
    for await (const bytes of body) {
      space.checkRunning()
      yield bytes
    }
  }
  return {
    ...files,
    async put(key, body) {
      space.checkRunning()
      return files.put(key, buffersOf(body) ? body : guarded(body as Body))
    },
    async copy(from, to) {
      space.checkRunning()
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
