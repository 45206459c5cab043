import { Link } from '@tanstack/react-router'
import type { ListedVideo } from '../../api/videos.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { Panel } from '../../ui/panel.tsx'
import type { Upload } from '../../upload/types.ts'
import styles from './activity.module.css'
import { EncodingRow } from './encoding-row.tsx'
import { UploadingRow } from './uploading-row.tsx'

const maxRows = 3

type InProgressPanelProps = { uploads: readonly Upload[]; videos: ListedVideo[]; total: number }

/** What is sent by this page, and what the server receives or encodes. */
export function InProgressPanel({ uploads, videos, total }: InProgressPanelProps) {
  const environment = useEnvironment()
  const rows = [
    ...uploads.map((upload) => <UploadingRow key={upload.id} upload={upload} />),
    ...videos.map((video) => <EncodingRow key={video.videoId} video={video} />),
  ]
  return (
    <Panel
      title={messages.home.inProgress}
      actions={
        total > maxRows && (
          <Link to="/$environment/videos" params={{ environment }} search={{ state: 'processing' }}>
            {messages.home.all(total)}
          </Link>
        )
      }
    >
      <ul className={styles.list}>{rows.slice(0, maxRows)}</ul>
    </Panel>
  )
}
