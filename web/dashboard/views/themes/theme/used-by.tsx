import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api } from '../../../api/client.ts'
import type { Page, Video } from '../../../api/types.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { formatNumber } from '../../../ui/format.ts'
import { Panel } from '../../../ui/panel.tsx'
import { ErrorText } from '../../../ui/states.tsx'
import { titleOf } from '../../../ui/title-of.ts'
import styles from './theme-view.module.css'

const shown = 12

/** The newest videos with the theme. */
export function UsedBy({ playerId }: { playerId: string }) {
  const environment = useEnvironment()
  const videos = useQuery({
    queryKey: [environment, 'videos', 'list', 'of-theme', playerId],
    queryFn: ({ signal }) =>
      api<Page<Video>>(environment, 'GET', '/videos', { query: { playerId, pageSize: shown }, signal }),
  })
  const more = (videos.data?.pagination.itemsTotal ?? 0) - shown
  return (
    <Panel title={messages.themes.usedBy}>
      {videos.isPending ? (
        <p className="muted">{messages.states.loading}</p>
      ) : !videos.data ? (
        <ErrorText error={videos.error} />
      ) : videos.data.data.length === 0 ? (
        <p className="muted">{messages.themes.usedByNone}</p>
      ) : (
        <ul className={styles.videos}>
          {videos.data.data.map(({ videoId, title }) => (
            <li key={videoId}>
              <Link to="/$environment/videos/$videoId" params={{ environment, videoId }}>
                {titleOf(title)}
              </Link>
            </li>
          ))}
          {more > 0 && <li className="muted">{messages.themes.usedByMore(formatNumber(more))}</li>}
        </ul>
      )}
    </Panel>
  )
}
