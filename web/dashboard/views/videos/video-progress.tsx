import { useQuery } from '@tanstack/react-query'
import { statusQuery } from '../../api/video-status.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { Progress } from '../../ui/progress.tsx'
import { describeStatus, progressOf } from './describe-status.ts'
import styles from './video-progress.module.css'

/** How far the upload and the encoding of a video are. */
export function VideoProgress({ videoId }: { videoId: string }) {
  const { data } = useQuery(statusQuery(useEnvironment(), videoId))
  return (
    <div className={styles.progress}>
      <Progress fraction={data ? progressOf(data) : 0} label={messages.videos.states.processing} />
      <div className={styles.text}>{data ? describeStatus(data) : messages.videos.states.processing}</div>
    </div>
  )
}
