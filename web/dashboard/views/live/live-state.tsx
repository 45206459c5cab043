import { messages } from '../../messages/messages.ts'
import { Badge, type BadgeVariant } from '../../ui/badge.tsx'

export type LiveState = 'onAir' | 'away' | 'starting' | 'offAir'

const variants: Record<LiveState, BadgeVariant> = {
  onAir: 'live',
  away: 'warn',
  starting: 'warn',
  offAir: 'plain',
}

/** Whether viewers can watch, as a word and a color. */
export const LiveStateBadge = ({ state }: { state: LiveState }) => (
  <Badge variant={variants[state]}>{messages.live[state]}</Badge>
)
