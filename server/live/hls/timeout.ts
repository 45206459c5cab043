import type { ServerResponse } from 'node:http'

const isOver = new Error('the wait is over')

/**
 * Runs work with a signal that is aborted when the viewer leaves, or after this time. AbortSignal.any and
 * AbortSignal.timeout would cost more than the rest of a request: each makes an exception with a stack trace.
 */
export async function withTimeout<T>(
  viewer: ServerResponse,
  maxMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const end = () => controller.abort(isOver)
  const timer = setTimeout(end, maxMs)
  viewer.once('close', end)
  if (viewer.destroyed) end()
  try {
    return await work(controller.signal)
  } finally {
    clearTimeout(timer)
    viewer.off('close', end)
  }
}
