import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { statusQuery } from '../../api/video-status.ts'
import type { ListedVideo } from '../../api/videos.ts'
import { useEnvironment } from '../../app/environment.ts'
import { Icon } from '../../ui/icon.tsx'
import { Progress } from '../../ui/progress.tsx'
import { titleOf } from '../../ui/title-of.ts'
import { describeStatus, progressOf } from '../videos/describe-status.ts'
import styles from './activity.module.css'

/** A video on its way to be watched. */
export function EncodingRow({ video: { videoId, title } }: { video: ListedVideo }) {
  const environment = useEnvironment()
  const { data } = useQuery(statusQuery(environment, videoId))
  return (
    <li>
      <Link to="/$environment/videos/$videoId" params={{ environment, videoId }} className={styles.row}>
        <span className={styles.picture}>
          <Icon name="video" size={20} />
        </span>
        <span className={styles.text}>
          <span className={styles.title} dir="auto">
            {titleOf(title)}
          </span>
          <Progress fraction={data ? progressOf(data) : 0} label={titleOf(title)} />
          <span className={styles.facts}>{data ? describeStatus(data) : '\u00a0'}</span>
        </span>
      </Link>
    </li>
  )
}
