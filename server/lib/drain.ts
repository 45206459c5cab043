import { once } from 'node:events'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import { stopAccepting } from './connections.ts'
import type { App } from './http.ts'

type StopTimes = { stopDelayMs: number; stopTimeoutMs: number }

/** For the file store, the jobs, the listener and the database. */
const closeOthersMs = 20_000

/** How long idle connections stay open. A proxy with load uses each of its connections within this time. */
const idleMs = 2_000

/** After this time, something does not answer. */
export const maxStopMs = (times: StopTimes) =>
  times.stopDelayMs + idleMs + times.stopTimeoutMs + closeOthersMs

/** Answers health checks with 503, and everything else as usual until proxies have noticed. */
export async function announceStop(app: App, { stopDelayMs }: StopTimes): Promise<void> {
  app.isStopping = true
  await delay(stopDelayMs)
}

/**
 * Finishes the requests in progress, but does not wait for clients that stopped sending. Every response ends its
 * connection. Behind a proxy, idle connections are not closed immediately, because it may be sending a request on one of
 * them, and cannot repeat it if it changes something.
 */
export async function drain(
  app: App,
  { stopDelayMs, stopTimeoutMs }: StopTimes,
  keepIdleMs = stopDelayMs > 0 ? idleMs : 0,
): Promise<void> {
  app.isClosing = true
  // Of connections whose response began before, with headers that keep them open. 0 would be no time limit.
  app.server.keepAliveTimeout = Math.max(1, keepIdleMs)
  if (keepIdleMs > 0) {
    const ended = once(app.server, 'close')
    await stopAccepting(app.server)
    await Promise.race([ended, delay(keepIdleMs, undefined, { ref: false })])
    // On a busy machine, requests may have arrived that were not read yet. After this turn, their connections are not idle.
    await nextTurn()
    app.server.closeIdleConnections()
  }
  const timer = setTimeout(() => app.server.closeAllConnections(), stopTimeoutMs)
  await app.close()
  clearTimeout(timer)
}
