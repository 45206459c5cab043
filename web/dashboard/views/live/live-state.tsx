import { messages } from '../../messages/messages.ts'
import { Badge } from '../../ui/badge.tsx'
import { classNames } from '../../ui/class-names.ts'
import styles from './live-state.module.css'

export type LiveState = 'onAir' | 'away' | 'starting' | 'offAir'

/** Whether viewers can watch, as a word and a color. */
export function LiveStateBadge({ state }: { state: LiveState }) {
  if (state === 'onAir')
    return <span className={classNames(styles.badge, styles.onAir)}>{messages.live.onAir}</span>
  return <Badge variant={state === 'offAir' ? 'plain' : 'warn'}>{messages.live[state]}</Badge>
}
