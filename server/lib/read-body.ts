import type { IncomingMessage } from 'node:http'
import { ApiError, httpErrors } from './errors.ts'

/** A Content-Length alone does not allocate more memory than this. */
const initialBytes = 16 * 1024

/** Reads a small body into one buffer. A list of tiny chunks would take far more memory than their bytes. */
export function readBody(
  request: IncomingMessage,
  { maxBytes, withinMs }: { maxBytes: number; withinMs: number },
): Promise<Buffer> {
  const declaredBytes = Number(request.headers['content-length'] ?? 0)
  if (declaredBytes > maxBytes) return Promise.reject(new ApiError(httpErrors.payloadTooLarge))
  // The client disconnected before its body was read, so there will be no more events.
  if (request.destroyed) return Promise.reject(new ApiError(httpErrors.badRequest))
  return new Promise((resolve, reject) => {
    let body: Buffer = Buffer.allocUnsafe(Math.min(declaredBytes, initialBytes))
    let size = 0

    // Most bodies have arrived together with their headers.
    const timer = request.complete
      ? undefined
      : setTimeout(() => fail(new ApiError(httpErrors.requestTimeout)), withinMs)
    const cleanUp = () => {
      clearTimeout(timer)
      request.off('data', add).off('end', finish).off('error', abort).off('close', abort)
    }
    const fail = (error: ApiError) => {
      cleanUp()
      reject(error)
    }
    const add = (chunk: Buffer) => {
      if (size + chunk.length > maxBytes) return fail(new ApiError(httpErrors.payloadTooLarge))
      if (size + chunk.length > body.length) body = enlarge(body, size, size + chunk.length)
      size += chunk.copy(body, size)
    }
    const finish = () => {
      cleanUp()
      resolve(body.subarray(0, size))
    }
    const abort = (cause?: unknown) => fail(new ApiError(httpErrors.badRequest, { cause }))
    request.on('data', add).on('end', finish).on('error', abort).on('close', abort)
  })
}

function enlarge(body: Buffer, size: number, needed: number): Buffer {
  const larger = Buffer.allocUnsafe(Math.max(needed, 2 * body.length))
  body.copy(larger, 0, 0, size)
  return larger
}
