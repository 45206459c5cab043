import { ApiProblem, OfflineError } from '../api/problem.ts'
import { messages } from '../messages/messages.ts'
import type { Upload } from './types.ts'

type Judgement = Pick<Upload, 'needs' | 'message'> & {
  /** An interrupted upload can continue later. */
  state: 'interrupted' | 'failed'
  /** When to try again. Undefined if only the user can help. */
  retryMs?: number
  /** The server does not know the upload any more. */
  isGone?: boolean
}

const maxDelayMs = 30_000
/** Somebody else is writing, the client is too fast or too slow, a checksum is wrong: all of them pass. */
const passing = new Set([408, 409, 423, 425, 429, 460])

export function judgeFailure(error: Error, failuresBefore: number): Judgement {
  const delay = Math.min(maxDelayMs, 1_000 * 2 ** failuresBefore)
  const lost = { state: 'interrupted', needs: undefined } as const
  if (error instanceof OfflineError)
    return { ...lost, retryMs: delay, message: messages.upload.connectionLost }
  // Browsers throw it if a file was moved, changed or deleted.
  if (error instanceof DOMException)
    return { state: 'interrupted', needs: 'file', message: messages.upload.unreadable }
  const failed = { state: 'failed', needs: undefined } as const
  if (!(error instanceof ApiProblem)) return { ...failed, message: error.message }
  const { status, message, retryAfterSeconds = 0, isStaleToken } = error
  if (status >= 500 || passing.has(status) || isStaleToken)
    return { ...lost, retryMs: Math.max(delay, retryAfterSeconds * 1_000), message }
  // It continues after the next login.
  if (status === 401 || status === 403) return { ...lost, message: messages.states.noPermission }
  if (status === 404 || status === 410) return { ...failed, isGone: true, message: messages.upload.gone }
  return { ...failed, message }
}
