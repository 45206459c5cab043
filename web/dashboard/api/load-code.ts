const retryMs = 5_000

/**
 * Loads a part of the dashboard. It waits until the server can be reached, because React and the router would otherwise
 * keep the failure. It fails if the server does not have the part, which happens after an update.
 */
export async function loadCode<T>(load: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await load()
    } catch (error) {
      if (await isServerReachable()) throw error
      await new Promise((resolve) => setTimeout(resolve, retryMs))
    }
  }
}

/** A proxy answers with such a status while the server starts. */
const isServerReachable = () =>
  fetch('/dashboard/session', { cache: 'no-store' }).then(
    ({ status }) => status < 500,
    () => false,
  )
