import type { Kysely } from 'kysely'
import type { Environment } from '../environments.ts'
import { unauthenticated } from '../lib/errors.ts'
import type { Tables } from '../tables.ts'
import { accountsErrors } from './errors.ts'
import { hashSecret } from './keys.ts'
import { type Credential, findCredential } from './store.ts'

/** What a request may see and do. */
export type Scope = { environment: Environment; keyId: string }

const remembered = 10_000

/**
 * Tells whose request it is. Headers that were good are remembered, so that a request costs no look-up, for as long
 * as the connection that hears of revoked keys is live; without it every request asks the database.
 */
export class Authenticator {
  readonly #db: Kysely<Tables>
  readonly #now: () => Date
  #known = new Map<string, Credential>()
  /** Counts revocations, so that a look-up that was under way during one is not remembered. */
  #generation = 0
  readonly #isListening: () => boolean

  /** `isListening` says whether the process is notified of revoked keys. */
  constructor(db: Kysely<Tables>, now: () => Date, isListening: () => boolean) {
    this.#db = db
    this.#now = now
    this.#isListening = isListening
  }

  forget(): void {
    this.#generation++
    this.#known.clear()
  }

  /** The credential decides the environment; `required` is set where the address admits only one. */
  async authenticate(header: string | undefined, required: Environment | undefined): Promise<Scope> {
    const known = header !== undefined && this.#isListening() ? this.#known.get(header) : undefined
    if (known && isGood(known, required, this.#now())) return scopeOf(known)
    return this.#lookUp(header, required)
  }

  async #lookUp(header: string | undefined, required: Environment | undefined): Promise<Scope> {
    const { secret, scheme } = readHeader(header)
    const generation = this.#generation
    const credential = await findCredential(this.#db, hashSecret(secret))
    // An access token is no user name: Basic takes keys alone.
    const fitsScheme = scheme === 'bearer' || credential?.kind === 'key'
    if (!credential || !fitsScheme || !isGood(credential, required, this.#now())) {
      throw unauthenticated(
        scheme === 'basic' ? accountsErrors.invalidApiKey : accountsErrors.invalidAccessToken,
      )
    }
    if (generation === this.#generation && this.#isListening()) {
      if (this.#known.size >= remembered) this.#known.clear()
      this.#known.set(header!, credential)
    }
    return scopeOf(credential)
  }
}

const scopeOf = ({ environment, keyId }: Credential): Scope => ({ environment, keyId })

const isGood = ({ environment, expiresAt }: Credential, required: Environment | undefined, now: Date) =>
  isAdmitted(environment, required) && (expiresAt === null || expiresAt > now)

/** Whether an address that requires this environment, or none, admits a credential of that one. */
export const isAdmitted = (environment: Environment, required: Environment | undefined) =>
  required === undefined || environment === required

/** `Basic base64(key:)`, `Bearer token` or `Bearer key`; the scheme's case does not matter, clients echo either. */
function readHeader(header: string | undefined): { scheme: 'basic' | 'bearer'; secret: string } {
  const value = header?.trim()
  // A client without a key sends the header empty.
  if (!value) throw unauthenticated(accountsErrors.missingHeader)
  const [, word = '', rest = ''] = /^(\S+)\s+(\S+)$/.exec(value) ?? []
  const scheme = word.toLowerCase()
  if (scheme === 'bearer') return { scheme, secret: rest }
  if (scheme === 'basic') {
    const [user] = Buffer.from(rest, 'base64').toString().split(':')
    if (user) return { scheme, secret: user }
  }
  throw unauthenticated(accountsErrors.invalidHeader)
}
