/** The answer of a certificate authority that refuses something, as RFC 8555 (ACME) defines it. */
export type Problem = {
  /** Such as `urn:ietf:params:acme:error:rateLimited`. */
  type?: string
  detail?: string
  subproblems?: Problem[]
}

/** The certificate authority refused, did not answer, or is not one. The message is a sentence. */
export class AcmeError extends Error {
  /** The last word of the type of the problem, such as `rateLimited`. */
  readonly kind: string | undefined
  readonly status: number | undefined
  /** What the authority asked to wait. */
  readonly retryAfterMs: number | undefined
  /** The order cannot become a certificate any more. */
  readonly isOrderOver: boolean

  constructor(
    message: string,
    details: {
      kind?: string | undefined
      status?: number
      retryAfterMs?: number | undefined
      isOrderOver?: boolean
      cause?: unknown
    } = {},
  ) {
    super(message, { cause: details.cause })
    this.kind = details.kind
    this.status = details.status
    this.retryAfterMs = details.retryAfterMs
    this.isOrderOver = details.isOrderOver ?? isRefusal(details.status)
  }
}

/** Not that it is too early, or that the authority has a problem itself. */
const isRefusal = (status = 0) => status >= 400 && status < 500 && status !== 429

const prefix = 'urn:ietf:params:acme:error:'

export const kindOf = ({ type }: Problem): string | undefined =>
  type?.startsWith(prefix) ? type.slice(prefix.length) : undefined

/** What the authority says, without line breaks, and not longer than a person reads. */
export function describeProblem(problem: Problem): string {
  const details = [problem, ...(problem.subproblems ?? [])].map(({ detail }) => detail)
  const text = details.filter((detail) => typeof detail === 'string' && detail !== '').join('; ')
  const words = (text || `${problem.type ?? 'no reason given'}`).replace(/[\s\p{Cc}]+/gu, ' ').trim()
  const short = words.length > 500 ? `${words.slice(0, 500)}…` : words.replace(/\.$/, '')
  const kind = kindOf(problem)
  return kind ? `${short} (${kind})` : short
}
