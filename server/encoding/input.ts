import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { FileNotFoundError, FileStoreError, type Files } from '../lib/files/files.ts'

/**
 * A file of the store as ffmpeg can open it. Closing it fails when the store did: what ffmpeg then made of the file, or
 * had to say about it, tells nothing.
 */
export type Input = { path: string; isServed: boolean; close(): Promise<void> }

/** On disk by its path; from a store elsewhere through a server on loopback, as ffmpeg reads only where it must. */
export async function openInput(files: Files, key: string): Promise<Input> {
  const path = files.pathOf(key)
  if (path !== undefined) return { path, isServed: false, close: async () => {} }
  const found = await files.stat(key)
  if (!found) throw new FileNotFoundError(`there is no file ${key}`)
  return serve(files, key, found.size)
}

async function serve(files: Files, key: string, size: number): Promise<Input> {
  const address = `/${randomUUID()}`
  let problem: unknown
  const server = createServer(async (request, response) => {
    if (request.url !== address) return response.writeHead(404).end()
    const from = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0)
    if (from >= size) return response.writeHead(416, { 'content-range': `bytes */${size}` }).end()
    const to = Math.min(size - 1, Number(/-(\d+)$/.exec(request.headers.range ?? '')?.[1] ?? size - 1))
    const fail = (error: unknown) => {
      // ffmpeg closes the connection whenever it goes elsewhere in the file.
      if (!response.destroyed) problem ??= isKnown(error) ? error : new FileStoreError('unreachable', error)
    }
    try {
      const body = await files.read(key, { from, to })
      // Before the pipeline hears of it, and ends the response.
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
    path: `http://127.0.0.1:${port}${address}`,
    isServed: true,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
      if (problem) throw problem
    },
  }
}

const isKnown = (error: unknown) => error instanceof FileStoreError || error instanceof FileNotFoundError
