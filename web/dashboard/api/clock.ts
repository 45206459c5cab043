/** The header has whole seconds, and a busy server writes it a little late. */
const toleranceMs = 3_000

let offsetMs = 0

/** The time of the server. The clock of the browser may be wrong by any amount. */
export const now = () => Date.now() + offsetMs

/**
 * Learns the time of the server from the Date header of a response. The header was written at some time between the request
 * and now, so a slow connection does not count as a difference between the clocks.
 */
export function noteServerTime({ headers }: Pick<Response, 'headers'>, requestedAtMs: number): void {
  const serverMs = Date.parse(headers.get('date') ?? '')
  if (Number.isNaN(serverMs)) return
  const [lowest, highest] = [serverMs - Date.now(), serverMs - requestedAtMs]
  const isPossible = (offset: number) => offset > lowest - toleranceMs && offset < highest + toleranceMs
  if (!isPossible(offsetMs)) offsetMs = isPossible(0) ? 0 : highest
}
