import type { Generated } from 'kysely'
import type { Environment } from '../environments.ts'

export const summaryAttributes = ['abstract', 'takeaways'] as const
export type SummaryAttribute = (typeof summaryAttributes)[number]

export const summaryOrigins = ['api', 'auto'] as const
export type SummaryOrigin = (typeof summaryOrigins)[number]

/** `missing` means that the text has to be written by the owner; `waiting`, that it will be generated. */
export const summaryStates = ['missing', 'waiting', 'failed', 'completed', 'unprocessable'] as const
export type SummaryState = (typeof summaryStates)[number]

export type SummaryRow = {
  id: string
  environment: Environment
  video_id: string
  origin: SummaryOrigin
  state: SummaryState
  /** Why the state is `failed` or `unprocessable`. */
  failure: string | null
  /** What to generate. */
  attributes: SummaryAttribute[]
  abstract: string | null
  takeaways: string[] | null
  /** Failed attempts to generate it. */
  attempts: Generated<number>
  next_at: Generated<Date>
  lease_owner: string | null
  lease_until: Date | null
  created_at: Date
  updated_at: Date
}

export type SummariesTables = { summaries: SummaryRow }
