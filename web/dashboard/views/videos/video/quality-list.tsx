import type { QualityStatus } from '../../../api/types.ts'
import { messages } from '../../../messages/messages.ts'
import { Badge } from '../../../ui/badge.tsx'
import { formatPercent } from '../../../ui/format.ts'
import { Progress } from '../../../ui/progress.tsx'
import styles from './progress-panel.module.css'

const variants = { waiting: 'plain', encoding: 'info', encoded: 'good', failed: 'bad' } as const

/** Each quality with its progress, and why it failed. */
export function QualityList({ qualities }: { qualities: QualityStatus[] }) {
  return (
    <ul className={styles.list}>
      {qualities.map(({ type, quality, status, progress = 0, failure }) => {
        const name = `${type.toUpperCase()} ${quality}`
        return (
          <li key={name} className={styles.quality}>
            <span className={styles.name}>
              {quality} <span className="muted">{type.toUpperCase()}</span>
            </span>
            {status === 'failed' ? (
              <span className={styles.failure}>{failure}</span>
            ) : (
              <Progress fraction={progress / 100} label={messages.video.state.progressOf(name)} />
            )}
            <Badge variant={variants[status]}>
              {status === 'encoding' ? formatPercent(progress / 100) : messages.video.state[status]}
            </Badge>
          </li>
        )
      })}
    </ul>
  )
}
