import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { VideoStatus } from '../../api/types.ts'
import { encodedFraction, statusQuery } from '../../api/video-status.ts'
import type { ListedVideo } from '../../api/videos.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { formatPercent } from '../../ui/format.ts'
import { Icon } from '../../ui/icon.tsx'
import { Progress } from '../../ui/progress.tsx'
import { titleOf } from '../../ui/title-of.ts'
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
          <Progress fraction={data ? encodedFraction(data) : 0} label={titleOf(title)} />
          <span className={styles.facts}>{data ? describe(data) : '\u00a0'}</span>
        </span>
      </Link>
    </li>
  )
}

function describe(status: VideoStatus): string {
  const { ingest, encoding } = status
  if (encoding.qualities.length === 0)
    return ingest?.status === 'uploading' || ingest?.status === 'ingesting'
      ? messages.videos.arriving
      : messages.videos.examining
  const percent = formatPercent(encodedFraction(status))
  return encoding.playable ? messages.home.encodedPlayable(percent) : messages.home.encoded(percent)
}
