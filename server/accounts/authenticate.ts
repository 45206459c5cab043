import type { Kysely } from 'kysely'
import type { Environment } from '../environments.ts'
import { unauthenticated } from '../lib/errors.ts'
import type { Scope, ScopedRequest } from '../request.ts'
import type { Tables } from '../tables.ts'
import { accountsErrors } from './errors.ts'
import { KeyUses } from './key-uses.ts'
import { hashSecret } from './keys.ts'
import { type Credential, findCredential } from './store.ts'

const maxCached = 10_000

/**
 * Finds the key of a request by its Authorization header. Valid headers are cached while the process is notified of
 * revoked keys; otherwise every request queries the database.
 */
export class Authenticator {
  readonly #db: Kysely<Tables>
  readonly #now: () => Date
  #cached = new Map<string, Credential>()
  /** Counts revocations, so that a lookup that started before a revocation is not cached. */
  #generation = 0
  readonly #isListening: () => boolean
  readonly #uses: KeyUses

  /** `isListening` says whether the process is notified of revoked keys. */
  constructor(db: Kysely<Tables>, now: () => Date, isListening: () => boolean) {
    this.#db = db
    this.#now = now
    this.#isListening = isListening
    this.#uses = new KeyUses(db)
  }

  /** Called when a key was revoked. */
  forget(): void {
    this.#generation++
    this.#cached.clear()
  }

  /** Finds the scope of a request. Throws if it has neither a valid key nor a session. */
  async authenticate({ headers, requiredEnvironment, sessionScope }: ScopedRequest): Promise<Scope> {
    return sessionScope ?? this.#scopeOf(headers.authorization, requiredEnvironment)
  }

  /** The credential decides the environment. `required` is set where the URL allows only one. */
  async #scopeOf(header: string | undefined, required: Environment | undefined): Promise<Scope> {
    const cached = header !== undefined && this.#isListening() ? this.#cached.get(header) : undefined
    const now = this.#now()
    const isUsable = cached !== undefined && isValid(cached, required, now)
    const scope = isUsable ? toScope(cached) : await this.#lookUp(header, required)
    this.#uses.note(scope.keyId, now)
    return scope
  }

  async #lookUp(header: string | undefined, required: Environment | undefined): Promise<Scope> {
    const { secret, scheme } = readHeader(header)
    const generation = this.#generation
    const credential = await findCredential(this.#db, hashSecret(secret))
    // With Basic, the user name must be an API key.
    const fitsScheme = scheme === 'bearer' || credential?.kind === 'key'
    if (!credential || !fitsScheme || !isValid(credential, required, this.#now())) {
      throw unauthenticated(
        scheme === 'basic' ? accountsErrors.invalidApiKey : accountsErrors.invalidAccessToken,
      )
    }
    if (generation === this.#generation && this.#isListening()) {
      if (this.#cached.size >= maxCached) this.#cached.clear()
      this.#cached.set(header!, credential)
    }
    return toScope(credential)
  }
}

const toScope = ({ environment, keyId }: Credential): Scope => ({ environment, keyId })

const isValid = ({ environment, expiresAt }: Credential, required: Environment | undefined, now: Date) =>
  isAdmitted(environment, required) && (expiresAt === null || expiresAt > now)

/** Whether a URL that requires an environment, or none, accepts a credential of this environment. */
export const isAdmitted = (environment: Environment, required: Environment | undefined) =>
  required === undefined || environment === required

/** `Basic base64(key:)`, `Bearer token` or `Bearer key`. The case of the scheme does not matter. */
function readHeader(header: string | undefined): { scheme: 'basic' | 'bearer'; secret: string } {
  const value = header?.trim()
  // Some clients send an empty header when they have no key.
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
