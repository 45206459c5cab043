/** The body of an error response of the API (RFC 9457). */
type ProblemBody = {
  title?: string
  detail?: string
  name?: string
  problems?: { title?: string; name?: string }[]
}

/** A response of the API that is not a success. */
export class ApiProblem extends Error {
  readonly status: number
  /** The sentence about each field that is wrong, by the name of the field. */
  readonly fields: Record<string, string>
  readonly retryAfterSeconds: number | undefined

  constructor(status: number, body: ProblemBody, retryAfterSeconds?: number) {
    super(body.detail ?? body.title ?? `The server answered with status ${status}.`)
    this.status = status
    this.retryAfterSeconds = retryAfterSeconds
    this.fields = fieldsOf(body)
  }
}

/** What was loaded has been deleted, or never existed. */
export const isMissing = (error: Error | null) => error instanceof ApiProblem && error.status === 404

/** The request did not reach the server, or its response did not arrive. */
export class OfflineError extends Error {}

function fieldsOf({ title, name, problems = [] }: ProblemBody): Record<string, string> {
  const all = problems.length > 0 ? problems : [{ title, name }]
  const named = all.filter((each) => each.name !== undefined && each.title !== undefined)
  return Object.fromEntries(named.map((each) => [each.name!, each.title!]))
}

/** A missing or unreadable body still has a status. */
export async function readProblem(response: Response): Promise<ApiProblem> {
  const body = await response.json().catch(() => ({}))
  const retryAfter = Number(response.headers.get('retry-after'))
  return new ApiProblem(response.status, body ?? {}, retryAfter > 0 ? retryAfter : undefined)
}
