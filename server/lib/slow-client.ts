import type { IncomingMessage } from 'node:http'
import { ApiError, httpErrors } from './errors.ts'
import { Http2Request } from './http2-messages.ts'

/** A client that sends fewer bytes than this in a window is too slow. */
const minBytes = 1024
const defaultWindowMs = 30_000
const stepsPerWindow = 6

/** Calls `onSlow` once if the client sends the body too slowly. Returns a function that stops watching. */
export function watchSlowClient(
  request: IncomingMessage,
  onSlow: () => void,
  windowMs = defaultWindowMs,
): () => void {
  // The window slides. With fixed windows, a client that stops would be noticed only at the end of the next one.
  let samples = [receivedBytes(request)]
  const timer = setInterval(() => {
    const received = receivedBytes(request)
    // Nothing is missing, or the server itself does not read.
    if (request.complete || request.readableLength > 0) samples = []
    samples.push(received)
    if (samples.length <= stepsPerWindow || received - samples.shift()! >= minBytes) return
    clearInterval(timer)
    onSlow()
  }, windowMs / stepsPerWindow)
  return () => clearInterval(timer)
}

const receivedBytes = (request: IncomingMessage | Http2Request) =>
  request instanceof Http2Request ? request.receivedBytes : request.socket.bytesRead

export const clientTooSlow = () =>
  new ApiError(httpErrors.requestTimeout, { headers: { connection: 'close' } })
