export type WakeSignal = {
  wake(): void
  /**
   * Call this before looking for work, so that a wake in between is not missed. The returned wait ends with the next
   * wake, or after the timeout.
   */
  listen(): (timeoutMs: number) => Promise<void>
}

/** Wakes loops of this process that wait for work. */
export function createWakeSignal(): WakeSignal {
  let { promise, resolve } = Promise.withResolvers<void>()
  return {
    wake() {
      resolve()
      ;({ promise, resolve } = Promise.withResolvers<void>())
    },
    listen() {
      const woken = promise
      return async (timeoutMs) => {
        const timeout = Promise.withResolvers<void>()
        const timer = setTimeout(timeout.resolve, timeoutMs)
        await Promise.race([woken, timeout.promise])
        clearTimeout(timer)
      }
    },
  }
}
