/** A time in the future. */
export const after = (now: Date, ms: number): Date => new Date(now.getTime() + ms)

/**
 * Whether something with this lifetime that ends at `end` has not ended. An end that is much too late was written while
 * the clock was wrong. The clocks of several machines differ a little.
 */
export const isActive = (end: Date, now: Date, lifetimeMs: number): boolean =>
  end > now && end <= latestEnd(now, lifetimeMs)

export const latestEnd = (now: Date, lifetimeMs: number): Date => after(now, 2 * lifetimeMs)
