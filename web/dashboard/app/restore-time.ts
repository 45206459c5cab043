import { useSession } from '../api/session.ts'
import { messages } from '../messages/messages.ts'
import { formatPeriod } from '../ui/format.ts'
import { useEnvironment } from './environment.ts'

/** How long a deleted video can be restored. Undefined if it cannot. */
export function useRestoreTime(): string | undefined {
  const { restoreHours, sandbox } = useSession()
  const isSandbox = useEnvironment() === 'sandbox'
  if (restoreHours === 0) return undefined
  // Videos of the sandbox do not exist longer.
  if (isSandbox && sandbox.hours > 0 && sandbox.hours < restoreHours)
    return messages.videos.deleted.atMost(sandbox.hours)
  return formatPeriod(restoreHours * 3_600)
}
