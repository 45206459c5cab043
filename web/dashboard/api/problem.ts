import { messages } from '../messages/messages.ts'

/** The body of an error response of the API (RFC 9457). */
type ProblemBody = {
  type?: string
  title?: string
  detail?: string
  name?: string
  problems?: { title?: string; name?: string }[]
}

const staleToken = 'dashboard-invalid-csrf-token'

/** The server writes these for programs. The keys are the ends of `type`. */
const ownMessages: Record<string, string> = {
  'dashboard-session-required': messages.states.noPermission,
  [staleToken]: messages.states.staleSession,
}

const kindOf = ({ type = '' }: ProblemBody) => type.slice(type.lastIndexOf('/') + 1)

/** A response of the API that is not a success. */
export class ApiProblem extends Error {
  readonly status: number
  /** The sentence about each field that is wrong, by the name of the field. */
  readonly fields: Record<string, string>
  readonly retryAfterSeconds: number | undefined
  /** Whether the CSRF token was that of an earlier session. */
  readonly isStaleToken: boolean

  constructor(status: number, body: ProblemBody, retryAfterSeconds?: number) {
    super(ownMessages[kindOf(body)] ?? body.detail ?? body.title ?? messages.states.badStatus(status))
    this.status = status
    this.isStaleToken = kindOf(body) === staleToken
    this.retryAfterSeconds = retryAfterSeconds
    this.fields = fieldsOf(body)
  }
}

/** What was loaded has been deleted, or never existed. */
export const isMissing = (error: Error | null) => error instanceof ApiProblem && error.status === 404

/** The session has ended, or the request was not allowed for another reason. */
export const isForbidden = (error: Error | null) =>
  error instanceof ApiProblem && (error.status === 401 || error.status === 403)

/** The request did not reach the server, or its response did not arrive. */
export class OfflineError extends Error {
  constructor(cause?: unknown) {
    super(messages.states.offlineTitle, { cause })
  }
}

function fieldsOf({ title, name, problems = [] }: ProblemBody): Record<string, string> {
  const all = problems.length > 0 ? problems : [{ title, name }]
  // The name of a problem that is about no field is empty.
  const named = all.filter((each) => each.name && each.title !== undefined)
  return Object.fromEntries(named.map((each) => [each.name!, each.title!]))
}

/** A missing or unreadable body still has a status. */
export async function readProblem(response: Response): Promise<ApiProblem> {
  const body = await response.json().catch(() => ({}))
  const retryAfter = Number(response.headers.get('retry-after'))
  return new ApiProblem(response.status, body ?? {}, retryAfter > 0 ? retryAfter : undefined)
}
