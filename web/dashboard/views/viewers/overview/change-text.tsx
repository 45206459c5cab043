import { messages } from '../../../messages/messages.ts'
import { classNames } from '../../../ui/class-names.ts'
import type { Change } from './change.ts'
import styles from './change-text.module.css'
import { formatChange } from './format-change.ts'

/** Less is shown as 0 %. */
const smallest = 0.005

/** The change from the previous period, such as "+50 %". */
export function ChangeText({ change }: { change: Change }) {
  if (change === undefined) return <span className={styles.change}>–</span>
  if (change === 'new') return <span className={styles.change}>{messages.viewers.newValue}</span>
  const text = formatChange(change)
  return (
    <span
      className={classNames(
        styles.change,
        change >= smallest && styles.up,
        change <= -smallest && styles.down,
      )}
    >
      <span aria-hidden="true">{text}</span>
      <span className="visually-hidden">{messages.viewers.compared(text)}</span>
    </span>
  )
}
