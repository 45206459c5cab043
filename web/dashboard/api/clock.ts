/** The header has whole seconds, and the response takes some time. */
const toleranceMs = 2_000

let offsetMs = 0

/** The time of the server. The clock of the browser may be wrong by any amount. */
export const now = () => Date.now() + offsetMs

/** Learns the time of the server from the Date header of a response. */
export function noteServerTime({ headers }: Pick<Response, 'headers'>): void {
  const serverMs = Date.parse(headers.get('date') ?? '')
  if (Number.isNaN(serverMs)) return
  const found = serverMs - Date.now()
  if (Math.abs(found - offsetMs) > toleranceMs) offsetMs = Math.abs(found) > toleranceMs ? found : 0
}
