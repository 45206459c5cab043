import { useBlocker } from '@tanstack/react-router'
import { texts } from '../texts/texts.ts'
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
      title={texts.leave.title}
      description={texts.leave.text}
      action={texts.leave.action}
      onConfirm={async () => proceed?.()}
    />
  )
}
