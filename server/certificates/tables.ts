/** An account of a certificate authority. */
type AcmeAccountRow = {
  directory_url: string
  /** Empty if none was given. */
  email: string
  /** PEM. */
  private_key: string
}

export type CertificateRow = {
  /** The URL of the authority and the domains. */
  id: string
  /** PEM, with the intermediate certificates. Null until the first one is issued, like everything about it. */
  chain: string | null
  private_key: string | null
  issued_at: Date | null
  renew_at: Date | null
  /** The next attempt, the renewal, or the next question when to renew. */
  next_at: Date
  /** Since the last success. */
  attempts: number
  last_error: string | null
  /** The order in progress, and the key of the certificate that was ordered. */
  order_url: string | null
  order_key: string | null
  /** Key authorizations by token. */
  challenges: Record<string, string>
  lease_owner: string | null
  lease_until: Date | null
}

declare module '../tables.ts' {
  interface Tables {
    acme_accounts: AcmeAccountRow
    certificates: CertificateRow
  }
}
