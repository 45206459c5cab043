import type { QualityStatus } from '../../../api/types.ts'
import { texts } from '../../../texts/texts.ts'
import { Badge } from '../../../ui/badge.tsx'
import { formatPercent } from '../../../ui/format.ts'
import { Progress } from '../../../ui/progress.tsx'
import styles from './progress-panel.module.css'

const looks = { waiting: 'plain', encoding: 'info', encoded: 'good', failed: 'bad' } as const

/** Each quality with its progress, and why it failed. */
export function QualityList({ qualities }: { qualities: QualityStatus[] }) {
  return (
    <ul className={styles.list}>
      {qualities.map(({ type, quality, status, progress = 0, failure }) => {
        const name = `${type.toUpperCase()} ${quality}`
        return (
          <li key={name} className={styles.quality}>
            <span className={styles.name}>
              {quality} <span className={styles.muted}>{type.toUpperCase()}</span>
            </span>
            {status === 'failed' ? (
              <span className={styles.failure}>{failure}</span>
            ) : (
              <Progress share={progress / 100} label={texts.video.state.progressOf(name)} />
            )}
            <Badge look={looks[status]}>
              {status === 'encoding' ? formatPercent(progress / 100) : texts.video.state[status]}
            </Badge>
          </li>
        )
      })}
    </ul>
  )
}
