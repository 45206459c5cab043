/** Runs so many at once; the others wait for their turn, and there are no more than so many of them. */
export type Turns = {
  /** Undefined, at once, when too many wait already. */
  take<T>(work: () => Promise<T>): Promise<T> | undefined
}

export function createTurns(atOnce: number, mostWaiting: number): Turns {
  const waiting: (() => void)[] = []
  let running = 0
  const run = async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve))
    else running += 1
    try {
      return await work()
    } finally {
      // The place goes to the next one as it is, so that nobody takes it in between.
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }
  return {
    take: (work) => (running >= atOnce && waiting.length >= mostWaiting ? undefined : run(work)),
  }
}
