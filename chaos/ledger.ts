/** A video whose file the service has acknowledged. */
export type AcknowledgedVideo = {
  way: string
  /** SHA-256 of the file. Undefined for a copy that the service makes. */
  hash: string
  /** What was acknowledged last. While a request has no answer yet, it is unknown. */
  state: 'kept' | 'deleted' | 'unknown'
  title: string
}

/** A time in which something was unavailable, in milliseconds since 1970. */
export type Outage = { what: string; from: number; to: number }

/** Everything that clients know, for the audit at the end. */
export class Ledger {
  readonly videos = new Map<string, AcknowledgedVideo>()
  readonly problems: string[] = []
  readonly outages: Outage[] = []
  readonly requests = { sent: 0, retried: 0 }
  readonly delivered = new Map<string, Set<string>>()

  /** Something that no fault excuses. */
  report(problem: string): void {
    this.problems.push(problem)
    console.error(`PROBLEM ${new Date().toISOString()} ${problem}`)
  }
}
