import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { request } from 'node:http'
import { basename } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { authorization } from './servers.ts'

const boundary = 'kinora-bench'
const stepMs = 50

type Pace = {
  /** The connection is closed after this part of the file. */
  until?: number
  /** How long the entire file takes, at a constant rate. Without it, it is sent as fast as possible. */
  seconds?: number
  onShare?(share: number): void
}

/** On the clock of `performance.now()`. */
export type Sent = {
  lastByteAt: number
  /** From the last byte to the response. Meanwhile the service flushes the file to the disk. */
  flushSeconds: number
}

/**
 * Sends a file in one request, without reading all of it into memory. Returns when the response has come, or when the
 * connection is closed.
 */
export async function sendFile(
  url: string,
  path: string,
  { until = 1, seconds, onShare }: Pace = {},
): Promise<Sent> {
  const { size } = await stat(path)
  const isAbandoned = until < 1
  const disposition = `form-data; name="file"; filename="${basename(path)}"`
  const head = `--${boundary}\r\ncontent-disposition: ${disposition}\r\n\r\n`
  const tail = `\r\n--${boundary}--\r\n`
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number | undefined; body: string }>()
  // Whoever awaits it later gets the error.
  promise.catch(() => {})
  const sending = request(url, {
    method: 'POST',
    headers: {
      authorization,
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': head.length + size + tail.length,
    },
  })
  sending.on('error', (error) => (isAbandoned ? resolve({ status: undefined, body: '' }) : reject(error)))
  sending.on('response', (response) => {
    text(response).then((body) => resolve({ status: response.statusCode, body }), reject)
  })
  const write = async (bytes: Buffer | string) => {
    if (sending.write(bytes)) return
    const written = new Promise((done) => sending.once('drain', done))
    await Promise.race([written, promise])
  }
  await write(head)
  const begun = performance.now()
  let sent = 0
  for await (const bytes of createReadStream(path, {
    highWaterMark: 1024 ** 2,
    end: Math.floor(until * size) - 1,
  })) {
    await write(bytes)
    sent += bytes.length
    onShare?.(sent / size)
    while (seconds !== undefined && performance.now() - begun < (1_000 * seconds * sent) / size)
      await delay(stepMs)
  }
  if (isAbandoned) sending.destroy()
  else await new Promise<void>((done) => sending.end(tail, done))
  const lastByteAt = performance.now()
  const { status, body } = await promise
  const flushSeconds = (performance.now() - lastByteAt) / 1_000
  if (!isAbandoned && status !== 201) throw new Error(`the response to the upload was ${status}: ${body}`)
  return { lastByteAt, flushSeconds }
}
