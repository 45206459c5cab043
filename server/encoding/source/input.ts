import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { FileNotFoundError, FileStoreError, type Files } from '../../lib/files/files.ts'
import { Unreadable } from '../../media/probe.ts'

/**
 * A file of the store in a form that ffmpeg can open. `close` throws if the store failed while the file was read: neither
 * the output of ffmpeg nor its error can be trusted then.
 */
export type Input = { path: string; bytes: number; isServed: boolean; close(): Promise<void> }

/**
 * A path on disk, or the URL of a loopback server for a remote store, so that ffmpeg reads only the ranges it needs. The
 * store knows for certain whether the file is missing. The error of ffmpeg could have other causes, which are retried.
 */
export async function openInput(files: Files, key: string): Promise<Input> {
  const found = await files.stat(key)
  if (!found)
    throw new Unreadable('The source file is missing.', {
      cause: new FileNotFoundError(`there is no file ${key}`),
    })
  const path = files.pathOf(key)
  if (path === undefined) return serve((range) => files.read(key, range), found.size)
  return { path, bytes: found.size, isServed: false, close: async () => {} }
}

/**
 * The first bytes of a file on disk, as if they were all of it. What follows them in the file may be a hole, or bytes that
 * are far from them in the complete file.
 */
export const openPrefix = (path: string, bytes: number): Promise<Input> =>
  serve(async ({ from, to }) => createReadStream(path, { start: from, end: to }), bytes)

type ReadRange = (range: { from: number; to: number }) => Promise<Readable>

async function serve(readRange: ReadRange, size: number): Promise<Input> {
  const path = `/${randomUUID()}`
  let failure: unknown
  const server = createServer(async (request, response) => {
    if (request.url !== path) return response.writeHead(404).end()
    const from = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0)
    if (from >= size) return response.writeHead(416, { 'content-range': `bytes */${size}` }).end()
    const to = Math.min(size - 1, Number(/-(\d+)$/.exec(request.headers.range ?? '')?.[1] ?? size - 1))
    const fail = (error: unknown) => {
      // ffmpeg closes the connection whenever it seeks.
      if (!response.destroyed) failure ??= isKnown(error) ? error : new FileStoreError('unreachable', error)
    }
    try {
      const body = await readRange({ from, to })
      // Registered before the pipeline's own listener, which destroys the response.
      body.once('error', fail)
      response.writeHead(206, {
        'accept-ranges': 'bytes',
        'content-length': to - from + 1,
        'content-range': `bytes ${from}-${to}/${size}`,
      })
      await pipeline(body, response)
    } catch (error) {
      fail(error)
      response.destroy()
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    path: `http://127.0.0.1:${port}${path}`,
    bytes: size,
    isServed: true,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
      if (failure) throw failure
    },
  }
}

const isKnown = (error: unknown) => error instanceof FileStoreError || error instanceof FileNotFoundError
