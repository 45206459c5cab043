import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../lib/db.ts'
import { type Lease, leaseMs } from '../lib/leases.ts'
import type { Tables } from '../tables.ts'
import type { StartedOrder } from './acme/order.ts'
import type { CertificateRow } from './tables.ts'

/** Processes listen to it, and use the new certificate. */
export const certificatesChannel = 'kinora_certificates'

const minuteMs = 60_000
/**
 * After the first attempt, the second, and so on. The last delay repeats: who corrects the DNS record waits an hour at
 * most. Let's Encrypt allows five failed checks of a domain in an hour.
 */
const retryDelaysMs = [1, 5, 15, 30, 60].map((minutes) => minutes * minuteMs)

const after = (ms: number | RawBuilder<number>): RawBuilder<Date> =>
  sql`now() + ${ms} * interval '1 millisecond'`

export type StoredCertificate = CertificateRow & {
  /** Milliseconds until `next_at`, by the clock of the database. */
  due_in_ms: number
  /** Whether the certificate has to be ordered. Otherwise the question is when. */
  is_order_due: boolean
  /** Whether a process is working on it. */
  is_leased: boolean
}

const columns = sql`*, extract(epoch from next_at - now())::float8 * 1000 as due_in_ms,
  (renew_at is null or renew_at <= now()) as is_order_due, coalesce(lease_until > now(), false) as is_leased`

/** The row of the certificate. The first process creates it. */
export async function provideCertificate(db: Db<Tables>, id: string): Promise<StoredCertificate> {
  const found = await findCertificate(db, id)
  if (found) return found
  await sql`insert into certificates (id) values (${id}) on conflict do nothing`.execute(db)
  return (await findCertificate(db, id))!
}

export async function findCertificate(db: Db<Tables>, id: string): Promise<StoredCertificate | undefined> {
  const { rows } = await sql<StoredCertificate>`select ${columns} from certificates where id = ${id}`.execute(
    db,
  )
  return rows[0]
}

/** Certificates of other domains and authorities, those of this authority first, then the latest first. */
export async function findEarlierCertificates(
  db: Db<Tables>,
  directoryUrl: string,
): Promise<{ chain: string; private_key: string }[]> {
  const { rows } = await sql<{ chain: string; private_key: string }>`
    select chain, private_key from certificates where chain is not null
    order by starts_with(id, ${`${directoryUrl} `}) desc, issued_at desc`.execute(db)
  return rows
}

/** Counts an attempt before it begins, and sets the time of the next one, so that a killed process has made it as well. */
export async function claimCertificate(
  db: Db<Tables>,
  { id, owner }: Lease,
): Promise<StoredCertificate | undefined> {
  const delay = sql<number>`(${retryDelaysMs}::integer[])[least(attempts + 1, ${retryDelaysMs.length})]`
  const { rows } = await sql<StoredCertificate>`
    update certificates
    set lease_owner = ${owner}, lease_until = ${after(leaseMs)}, attempts = attempts + 1, next_at = ${after(delay)}
    where id = ${id} and next_at <= now() and (lease_until is null or lease_until < now())
    returning ${columns}`.execute(db)
  return rows[0]
}

/** Returns the time of the next attempt, or undefined if another process has the lease. */
async function update(
  db: Db<Tables>,
  { id, owner }: Lease,
  changes: RawBuilder<unknown>,
): Promise<Date | undefined> {
  const { rows } = await sql<Pick<CertificateRow, 'next_at'>>`
    update certificates set ${changes} where id = ${id} and lease_owner = ${owner} returning next_at`.execute(
    db,
  )
  return rows[0]?.next_at
}

/** False if another process has the lease. */
const updateLeased = async (db: Db<Tables>, lease: Lease, changes: RawBuilder<unknown>): Promise<boolean> =>
  (await update(db, lease, changes)) !== undefined

const noLease = sql`lease_owner = null, lease_until = null`
const notify = (db: Db<Tables>) => sql`select pg_notify(${certificatesChannel}, '')`.execute(db)

export const renewLease = (db: Db<Tables>, lease: Lease) =>
  updateLeased(db, lease, sql`lease_until = ${after(leaseMs)}`)

/** Ends an attempt that was interrupted by the stop of the process. Another process continues it. */
export async function releaseCertificate(db: Db<Tables>, lease: Lease): Promise<void> {
  await update(db, lease, sql`${noLease}, attempts = greatest(attempts - 1, 0), next_at = now()`)
  await notify(db)
}

export const saveOrder = (db: Db<Tables>, lease: Lease, { url, keyPem }: StartedOrder) =>
  updateLeased(db, lease, sql`order_url = ${url}, order_key = ${keyPem}`)

export const saveChallenge = (db: Db<Tables>, lease: Lease, token: string, keyAuthorization: string) =>
  updateLeased(
    db,
    lease,
    sql`challenges = challenges || ${JSON.stringify({ [token]: keyAuthorization })}::jsonb`,
  )

/** The answer to a challenge of any order in progress. */
export async function findKeyAuthorization(db: Db<Tables>, token: string): Promise<string | undefined> {
  const { rows } = await sql<{ answer: string }>`
    select challenges ->> ${token} as answer from certificates where challenges ->> ${token} is not null`.execute(
    db,
  )
  return rows[0]?.answer
}

type Issued = { chain: string; keyPem: string; renewAt: Date; nextAt: Date }

export async function recordIssued(
  db: Db<Tables>,
  lease: Lease,
  { chain, keyPem, renewAt, nextAt }: Issued,
): Promise<void> {
  await update(
    db,
    lease,
    sql`chain = ${chain}, private_key = ${keyPem}, issued_at = now(), renew_at = ${renewAt}, next_at = ${nextAt},
      attempts = 0, last_error = null, order_url = null, order_key = null, challenges = '{}', ${noLease}`,
  )
  await notify(db)
}

/** Records when the certificate will be renewed. */
export const recordRenewalTime = (
  db: Db<Tables>,
  lease: Lease,
  { renewAt, nextAt }: Pick<Issued, 'renewAt' | 'nextAt'>,
) => update(db, lease, sql`renew_at = ${renewAt}, next_at = ${nextAt}, attempts = 0, ${noLease}`)

/** Returns the time of the next attempt. It continues the order, unless the order has failed as well. */
export async function recordFailure(
  db: Db<Tables>,
  lease: Lease,
  { message, retryAfterMs, isOrderOver }: { message: string; retryAfterMs: number; isOrderOver: boolean },
): Promise<Date | undefined> {
  const nextAt = await update(
    db,
    lease,
    sql`last_error = ${message}, next_at = greatest(next_at, ${after(retryAfterMs)}), challenges = '{}',
      order_url = case when ${isOrderOver} then null else order_url end,
      order_key = case when ${isOrderOver} then null else order_key end, ${noLease}`,
  )
  await notify(db)
  return nextAt
}

/** The private key of the account. The first process creates it. */
export async function provideAccountKey(
  db: Db<Tables>,
  account: { directory_url: string; email: string },
  newKeyPem: () => string,
): Promise<string> {
  const find = () =>
    db
      .selectFrom('acme_accounts')
      .select('private_key')
      .where('directory_url', '=', account.directory_url)
      .where('email', '=', account.email)
      .executeTakeFirst()
  const found = await find()
  if (found) return found.private_key
  await db
    .insertInto('acme_accounts')
    .values({ ...account, private_key: newKeyPem() })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  return (await find())!.private_key
}
