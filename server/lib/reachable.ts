const checkTimeoutMs = 3_000

/** Whether the check succeeds within some seconds. */
export async function isReachable(check: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), checkTimeoutMs)
  })
  const result = await Promise.race([check.then(() => true).catch(() => false), timeout])
  clearTimeout(timer)
  return result
}
