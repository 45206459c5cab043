import { texts } from '../../texts/texts.ts'
import { Badge } from '../../ui/badge.tsx'
import { classNames } from '../../ui/class-names.ts'
import styles from './live-state.module.css'

export type LiveState = 'onAir' | 'away' | 'starting' | 'offAir'

/** Whether viewers can watch, as a word and a colour. */
export function LiveStateBadge({ state }: { state: LiveState }) {
  if (state === 'onAir')
    return <span className={classNames(styles.badge, styles.onAir)}>{texts.live.onAir}</span>
  return <Badge look={state === 'offAir' ? 'plain' : 'warn'}>{texts.live[state]}</Badge>
}
