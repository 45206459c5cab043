import type { Kysely } from 'kysely'
import type { Environment, Tables } from '../contracts/tables.ts'
import { unauthenticated } from '../lib/errors.ts'
import { hashSecret } from './keys.ts'
import { type Credential, findCredential } from './store.ts'

/** What a request may see and do. */
export type Scope = { environment: Environment; keyId: string }

const remembered = 10_000

/**
 * Tells whose request it is. Credentials are remembered, so that a request costs no look-up, for as long as the
 * connection that hears of revoked keys is live; without it every request asks the database.
 */
export class Authenticator {
  readonly #db: Kysely<Tables>
  readonly #now: () => Date
  #known = new Map<string, Credential>()
  /** Counts revocations, so that a look-up that was under way during one is not remembered. */
  #generation = 0
  #isHearing: () => boolean = () => false

  constructor(db: Kysely<Tables>, now: () => Date) {
    this.#db = db
    this.#now = now
  }

  /** Called once the listener is open. */
  trust(isHearing: () => boolean): void {
    this.#isHearing = isHearing
  }

  forget(): void {
    this.#generation++
    this.#known.clear()
  }

  async authenticate(header: string | undefined, environment: Environment): Promise<Scope> {
    const { secret, scheme } = readHeader(header)
    const hash = hashSecret(secret)
    const slot = hash.toString('base64')
    const credential =
      (this.#isHearing() ? this.#known.get(slot) : undefined) ?? (await this.#lookUp(hash, slot))
    const isGood =
      credential !== undefined &&
      credential.environment === environment &&
      // An access token is no user name: Basic takes keys alone.
      (scheme === 'bearer' || credential.kind === 'key') &&
      (credential.expiresAt === null || credential.expiresAt > this.#now())
    if (!isGood) {
      throw unauthenticated(
        scheme === 'basic' ? 'authentication-invalid-api-key' : 'authentication-invalid-access-token',
      )
    }
    return { environment, keyId: credential.keyId }
  }

  async #lookUp(hash: Buffer, slot: string): Promise<Credential | undefined> {
    const generation = this.#generation
    const credential = await findCredential(this.#db, hash)
    if (credential && generation === this.#generation && this.#isHearing()) {
      if (this.#known.size >= remembered) this.#known.clear()
      this.#known.set(slot, credential)
    }
    return credential
  }
}

/** `Basic base64(key:)`, `Bearer token` or `Bearer key`; the scheme's case does not matter, clients echo either. */
function readHeader(header: string | undefined): { scheme: 'basic' | 'bearer'; secret: string } {
  const value = header?.trim()
  // A client without a key sends the header empty.
  if (!value) throw unauthenticated('authentication-missing-authorization-header')
  const [, word = '', rest = ''] = /^(\S+)\s+(\S+)$/.exec(value) ?? []
  const scheme = word.toLowerCase()
  if (scheme === 'bearer') return { scheme, secret: rest }
  if (scheme === 'basic') {
    const [user] = Buffer.from(rest, 'base64').toString().split(':')
    if (user) return { scheme, secret: user }
  }
  throw unauthenticated('authentication-invalid-authorization-header-value')
}
