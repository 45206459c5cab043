/** Whether the stream of changes is interrupted, so that other requests would fail too. */
let isInterrupted = false

export const noteInterruption = (next: boolean) => {
  isInterrupted = next
}

/** Whether a request has a chance. */
export const isConnected = () => navigator.onLine && !isInterrupted
