export type Bell = {
  ring(): void
  /**
   * To be asked for before one looks for work, so that what rings meanwhile is not missed. The wait ends with the next
   * ring, or after the time.
   */
  listen(): (withinMs: number) => Promise<void>
}

/** Tells those who wait that there may be something to do. */
export function createBell(): Bell {
  let { promise, resolve } = Promise.withResolvers<void>()
  return {
    ring() {
      resolve()
      ;({ promise, resolve } = Promise.withResolvers<void>())
    },
    listen() {
      const heard = promise
      return async (withinMs) => {
        const late = Promise.withResolvers<void>()
        const timer = setTimeout(late.resolve, withinMs)
        await Promise.race([heard, late.promise])
        clearTimeout(timer)
      }
    },
  }
}
