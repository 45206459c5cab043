import type { Context } from '../context.ts'
import { ApiError, httpErrors } from '../lib/errors.ts'
import { networkOf } from '../lib/network.ts'
import { type Attempts, countAttempt, findAttempts, uncountAttempt } from './attempt-store.ts'

const windowMs = 15 * 60_000

/** Attempts in 15 minutes that may fail, of one network and in total. The total stops guesses from many addresses. */
const maxAttempts = {
  password: { network: 10, total: 200 },
  link: { network: 20, total: 10_000 },
}

/**
 * Limits attempts to log in. The counters are in the database: they are common to all processes, and a restart does not
 * reset them. An attempt is counted before it is checked, so that parallel requests cannot exceed the limit.
 */
export async function limitAttempts<T>(
  { db, now }: Pick<Context, 'db' | 'now'>,
  kind: keyof typeof maxAttempts,
  ipAddress: string,
  attempt: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const subjects = await countAttemptOf({ db, now }, kind, ipAddress)
  const result = await attempt()
  if (result !== undefined) await uncountAttempt(db, subjects)
  return result
}

/** Counts an attempt and returns the counters. Throws if there were too many. */
export async function countAttemptOf(
  { db, now }: Pick<Context, 'db' | 'now'>,
  kind: keyof typeof maxAttempts,
  ipAddress: string,
): Promise<string[]> {
  const started = now()
  const [network, total] = [`${kind} ${networkOf(ipAddress)}`, `${kind} total`]
  const check = (counted: Attempts | undefined, max: number) => {
    if (counted && counted.attempts > max) throw tooManyAttempts(counted.ends_at, started)
  }
  const max = maxAttempts[kind]
  // Without a new row, so that a flood from many networks does not fill the table.
  check(await findAttempts(db, total, started, windowMs), max.total)
  check(await countAttempt(db, network, started, windowMs), max.network)
  // Counted last, so that a network above its limit does not use up the total.
  check(await countAttempt(db, total, started, windowMs), max.total)
  return [network, total]
}

function tooManyAttempts(endsAt: Date, now: Date): ApiError {
  const seconds = Math.max(1, Math.ceil((endsAt.getTime() - now.getTime()) / 1_000))
  const minutes = Math.ceil(seconds / 60)
  return new ApiError(httpErrors.tooManyRequests, {
    title: `Too many attempts to log in. Try again in ${minutes} minute${minutes === 1 ? '' : 's'}.`,
    headers: { 'retry-after': String(seconds) },
  })
}
