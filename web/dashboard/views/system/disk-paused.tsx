import type { Stored } from '../../api/system.ts'
import { messages } from '../../messages/messages.ts'
import { formatBytes } from '../../ui/format.ts'
import { ErrorText } from '../../ui/states.tsx'
import { DeletedLink } from './deleted-link.tsx'

/** The disk is almost full. Deleted videos are what can be removed at once. */
export function DiskPaused({ storage }: { storage: Stored[] | null }) {
  const deleted = storage?.filter(({ kind }) => kind === 'discarded') ?? []
  const bytes = deleted.reduce((sum, each) => sum + each.bytes, 0)
  return (
    <ErrorText error={new Error(messages.system.diskPaused)}>
      {bytes > 0 && (
        <DeletedLink deleted={deleted}>{messages.system.deletedTake(formatBytes(bytes))}</DeletedLink>
      )}
    </ErrorText>
  )
}
