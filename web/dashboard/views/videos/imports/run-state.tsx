import type { Import } from '../../../api/imports.ts'
import { importMessages } from '../../../messages/imports.ts'
import { Badge, type BadgeVariant } from '../../../ui/badge.tsx'

const variants: Record<Import['state'], BadgeVariant> = {
  running: 'info',
  ready: 'plain',
  paused: 'warn',
  completed: 'good',
  canceled: 'plain',
  failed: 'bad',
}

export function RunState({ run: { state, dryRun } }: { run: Import }) {
  const name = state === 'running' && dryRun ? 'listing' : state
  return <Badge variant={variants[state]}>{importMessages.states[name]}</Badge>
}
