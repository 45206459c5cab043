import type { IncomingMessage } from 'node:http'
import { ApiError, httpErrors } from './errors.ts'

/** What is only announced takes no room. */
const firstBytes = 16 * 1024

/**
 * Reads the whole of a small body. Into one buffer: to keep the chunks as they come would cost far more than their
 * bytes where they are tiny.
 */
export function readBody(
  request: IncomingMessage,
  { maxBytes, withinMs }: { maxBytes: number; withinMs: number },
): Promise<Buffer> {
  const announced = Number(request.headers['content-length'] ?? 0)
  if (announced > maxBytes) return Promise.reject(new ApiError(httpErrors.payloadTooLarge))
  // The client left before its body was read: no event tells of that any more.
  if (request.destroyed) return Promise.reject(new ApiError(httpErrors.badRequest))
  return new Promise((resolve, reject) => {
    let body: Buffer = Buffer.allocUnsafe(Math.min(announced, firstBytes))
    let size = 0

    // Most bodies have come with their headers.
    const timer = request.complete
      ? undefined
      : setTimeout(() => fail(new ApiError(httpErrors.requestTimeout)), withinMs)
    const settle = () => {
      clearTimeout(timer)
      request.off('data', add).off('end', finish).off('error', abort).off('close', abort)
    }
    const fail = (error: ApiError) => {
      settle()
      reject(error)
    }
    const add = (chunk: Buffer) => {
      if (size + chunk.length > maxBytes) return fail(new ApiError(httpErrors.payloadTooLarge))
      if (size + chunk.length > body.length) body = enlarged(body, size, size + chunk.length)
      size += chunk.copy(body, size)
    }
    const finish = () => {
      settle()
      resolve(body.subarray(0, size))
    }
    const abort = (cause?: unknown) => fail(new ApiError(httpErrors.badRequest, { cause }))
    request.on('data', add).on('end', finish).on('error', abort).on('close', abort)
  })
}

function enlarged(body: Buffer, size: number, needed: number): Buffer {
  const larger = Buffer.allocUnsafe(Math.max(needed, 2 * body.length))
  body.copy(larger, 0, 0, size)
  return larger
}
