/** Waits until the promise is settled, or for this long. */
export async function settled(promise: Promise<unknown>, maxMs: number): Promise<void> {
  const timeout = Promise.withResolvers<void>()
  const timer = setTimeout(timeout.resolve, maxMs)
  await Promise.race([promise, timeout.promise])
  clearTimeout(timer)
}
