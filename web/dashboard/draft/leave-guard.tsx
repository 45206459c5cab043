import { useBlocker } from '@tanstack/react-router'
import { messages } from '../messages/messages.ts'
import { ConfirmDialog } from '../ui/confirm-dialog.tsx'

/** Asks before the page is left with changes that are not saved. */
export function LeaveGuard({ isDirty }: { isDirty: boolean }) {
  const { status, proceed, reset } = useBlocker({
    // The tab is part of the search. It keeps what was typed.
    shouldBlockFn: ({ current, next }) => isDirty && current.pathname !== next.pathname,
    enableBeforeUnload: () => isDirty,
    withResolver: true,
  })
  return (
    <ConfirmDialog
      isOpen={status === 'blocked'}
      onClose={() => reset?.()}
      title={messages.leave.title}
      description={messages.leave.text}
      action={messages.leave.action}
      onConfirm={async () => proceed?.()}
    />
  )
}
