import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // Accounts of certificate authorities (ACME). An empty e-mail address means none.
  await sql`
    create table acme_accounts (
      directory_url text not null,
      email text not null,
      private_key text not null,
      primary key (directory_url, email)
    )`.execute(db)
  // The id consists of the URL of the authority and the domains. "next_at" is the time of the next attempt, of the
  // renewal, or of the next question when to renew. It is set before an attempt begins, so that a process that is killed
  // again and again does not send more requests than the authority allows.
  await sql`
    create table certificates (
      id text primary key,
      chain text,
      private_key text,
      issued_at timestamptz,
      renew_at timestamptz,
      next_at timestamptz not null default now(),
      attempts integer not null default 0,
      last_error text,
      order_url text,
      order_key text,
      challenges jsonb not null default '{}',
      lease_owner text,
      lease_until timestamptz
    )`.execute(db)
}
