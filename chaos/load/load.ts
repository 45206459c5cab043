import type { Installation } from '../../machines/installation.ts'
import type { Answer, Client } from '../client.ts'
import type { Ledger } from '../ledger.ts'
import type { Random } from '../random.ts'

export type LoadContext = {
  installation: Installation
  client: Client
  ledger: Ledger
  random: Random
  /** A small clip that the service can encode quickly. */
  clip: Buffer
  /** The service fetches the files of this folder at this URL. */
  files: { folder: string; url: string }
  /** Aborted when no new work is to begin. Work in progress continues to its end. */
  stopping: AbortSignal
}

/** Returns the response if it has the expected status. Otherwise it is a problem. */
export function expectStatus(
  ledger: Ledger,
  what: string,
  answer: Answer,
  ...expected: number[]
): Answer | undefined {
  if (expected.includes(answer.status)) return answer
  ledger.report(`${what} got ${answer.status}: ${answer.text.slice(0, 300)}`)
  return undefined
}
