import type { ServerResponse } from 'node:http'

const isOver = new Error('the wait is over')

/**
 * Runs work with a signal that is aborted when the viewer leaves, or after this time. AbortSignal.any and
 * AbortSignal.timeout would cost more than the rest of a request: each makes an exception with a stack trace.
 */
export async function withPatience<T>(
  viewer: ServerResponse,
  maxMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const patience = new AbortController()
  const end = () => patience.abort(isOver)
  const timer = setTimeout(end, maxMs)
  viewer.once('close', end)
  if (viewer.destroyed) end()
  try {
    return await work(patience.signal)
  } finally {
    clearTimeout(timer)
    viewer.off('close', end)
  }
}
