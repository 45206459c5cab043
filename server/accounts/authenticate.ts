import { type Environment, environments } from '../environments.ts'
import { commandName } from '../lib/command-name.ts'
import { type ApiError, type ErrorKind, unauthenticated } from '../lib/errors.ts'
import type { Scope, ScopedRequest } from '../request.ts'
import type { OpenContext } from '../slice.ts'
import { readAuthorization, type Scheme } from './authorization-header.ts'
import { accountsErrors } from './errors.ts'
import { KeyUses } from './key-uses.ts'
import { hashSecret } from './keys.ts'
import { type Credential, findCredential } from './store.ts'

const maxCached = 10_000

/** `isListening` says whether the process is notified of revoked keys. */
type Deps = Pick<OpenContext, 'db' | 'now' | 'isListening' | 'localKeys' | 'publicUrl'>

/**
 * Finds the key of a request by its Authorization header. Valid headers are cached while the process is notified of
 * revoked keys; otherwise every request queries the database.
 */
export class Authenticator {
  readonly #db: Deps['db']
  readonly #now: () => Date
  #cached = new Map<string, Credential>()
  /** Counts revocations, so that a lookup that started before a revocation is not cached. */
  #generation = 0
  readonly #isListening: () => boolean
  readonly #publicUrl: () => string
  readonly #uses: KeyUses
  /** By the hash of the key, as in the database. */
  readonly #local = new Map<string, Credential>()

  constructor({ db, now, isListening, localKeys, publicUrl }: Deps) {
    this.#db = db
    this.#now = now
    this.#isListening = isListening
    this.#publicUrl = publicUrl
    this.#uses = new KeyUses(db)
    if (!localKeys) return
    for (const environment of environments) {
      const credential = { keyId: `local ${environment}`, environment, kind: 'key', expiresAt: null } as const
      this.#local.set(hashSecret(localKeys[environment]).toString('hex'), credential)
    }
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
    const reading = readAuthorization(header)
    if ('fault' in reading) throw this.#reject(reading.kind, reading.fault, required)
    const { secret, scheme } = reading
    const generation = this.#generation
    const hash = hashSecret(secret)
    const credential = this.#local.get(hash.toString('hex')) ?? (await findCredential(this.#db, hash))
    // With Basic, the user name must be an API key.
    const fitsScheme = scheme === 'bearer' || credential?.kind === 'key'
    if (!credential || !fitsScheme || !isValid(credential, required, this.#now())) {
      const kind = scheme === 'basic' ? accountsErrors.invalidApiKey : accountsErrors.invalidAccessToken
      throw this.#reject(kind, describeFault(scheme, credential, this.#now()), required)
    }
    if (generation === this.#generation && this.#isListening()) {
      if (this.#cached.size >= maxCached) this.#cached.clear()
      this.#cached.set(header!, credential)
    }
    return toScope(credential)
  }

  #reject(kind: ErrorKind, fault: string, required: Environment | undefined): ApiError {
    const page = `${this.#publicUrl()}/dashboard/${required ?? 'production'}/keys`
    const command = `${commandName(process.env)} keys create`
    return unauthenticated(kind, `${fault} Create a key at ${page} or with "${command}" on the server.`)
  }
}

/** Only the owner of a key or token that exists learns more than that it is unknown. */
function describeFault(scheme: Scheme, credential: Credential | undefined, now: Date): string {
  if (!credential)
    return scheme === 'basic'
      ? 'The API key is unknown or was revoked.'
      : 'The key or token is unknown or expired, or it was revoked.'
  const { kind, environment, expiresAt } = credential
  if (scheme === 'basic' && kind === 'access')
    return 'This is an access token: send it as "Authorization: Bearer <token>".'
  if (expiresAt !== null && expiresAt <= now)
    return 'The access token has expired. Get another one with POST /auth/refresh or POST /auth/api-key.'
  return `This is a ${kind === 'key' ? 'key' : 'token'} of ${environment}, but URLs below /sandbox accept only those of sandbox.`
}

const toScope = ({ environment, keyId }: Credential): Scope => ({ environment, keyId })

const isValid = ({ environment, expiresAt }: Credential, required: Environment | undefined, now: Date) =>
  isAdmitted(environment, required) && (expiresAt === null || expiresAt > now)

/** Whether a URL that requires an environment, or none, accepts a credential of this environment. */
export const isAdmitted = (environment: Environment, required: Environment | undefined) =>
  required === undefined || environment === required
