import { renewCsrfToken } from '../api/client.ts'
import { ApiProblem } from '../api/problem.ts'

/** A failed response of an upload as the error that other requests throw. */
export function problemOf(
  status: number,
  body: string,
  retryAfterHeader: string | null | undefined,
): ApiProblem {
  const retryAfter = Number(retryAfterHeader)
  return new ApiProblem(status, readBody(body), retryAfter > 0 ? retryAfter : undefined)
}

function readBody(text: string): object {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return {}
  }
}

/** The attempt that follows has the token of the present session. */
export async function noteStaleToken(error: Error): Promise<Error> {
  if (error instanceof ApiProblem && error.isStaleToken) await renewCsrfToken().catch(() => {})
  return error
}
