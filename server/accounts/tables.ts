import type { Environment } from '../environments.ts'

export type ApiKeyRow = {
  id: string
  environment: Environment
  name: string
  hash: Buffer
  created_at: Date
  revoked_at: Date | null
  /** At most a minute earlier than the last use. */
  last_used_at: Date | null
}

export type TokenRow = {
  hash: Buffer
  kind: 'access' | 'refresh'
  key_id: string
  expires_at: Date
}

/** Created once and shared by all processes. */
type SecretRow = { name: string; value: Buffer }

declare module '../tables.ts' {
  interface Tables {
    api_keys: ApiKeyRow
    tokens: TokenRow
    secrets: SecretRow
  }
}
