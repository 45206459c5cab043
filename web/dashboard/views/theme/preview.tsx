import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { api } from '../../api/client.ts'
import type { RecentVideo } from '../../api/home.ts'
import { type PlayerTheme, themesQuery } from '../../api/themes.ts'
import type { Page } from '../../api/types.ts'
import { useEnvironment } from '../../app/environment.ts'
import { texts } from '../../texts/texts.ts'
import { Panel } from '../../ui/panel.tsx'
import { ErrorText, Loading } from '../../ui/states.tsx'
import styles from './preview.module.css'
import { PreviewPlayer } from './preview-player.tsx'

/** The player with a theme that may not be saved yet, on a video of choice. */
export function Preview({ theme }: { theme: PlayerTheme }) {
  const id = useId()
  const { videos, error, isPending } = usePreviewVideos(theme.playerId)
  const [chosen, setChosen] = useState<string>()
  const video = videos.find(({ videoId }) => videoId === chosen) ?? videos[0]
  return (
    <Panel
      title={texts.themes.preview}
      actions={
        video && (
          <div className={styles.choice}>
            <label htmlFor={id}>{texts.themes.previewVideo}</label>
            <select
              id={id}
              className={styles.select}
              value={video.videoId}
              onChange={(event) => setChosen(event.target.value)}
            >
              {videos.map(({ videoId, title }) => (
                <option key={videoId} value={videoId}>
                  {title || texts.themes.untitled}
                </option>
              ))}
            </select>
          </div>
        )
      }
    >
      {isPending ? (
        <Loading />
      ) : error ? (
        <ErrorText error={error} />
      ) : video ? (
        <>
          <PreviewPlayer key={video.videoId} url={video.assets.player} theme={theme} />
          <p className={styles.muted}>{texts.themes.previewHint}</p>
        </>
      ) : (
        <p className={styles.muted}>{texts.themes.previewNone}</p>
      )}
    </Panel>
  )
}

/**
 * The newest videos that play, without those whose theme does not let pages control the player. Those with the theme
 * come first.
 */
function usePreviewVideos(themeId: string) {
  const environment = useEnvironment()
  const themes = useInfiniteQuery(themesQuery(environment))
  const videos = useQuery({
    queryKey: [environment, 'videos', 'list', 'preview'],
    queryFn: ({ signal }) =>
      api<Page<RecentVideo>>(environment, 'GET', '/videos', {
        query: { include: ['status'], pageSize: 50 },
        signal,
      }),
  })
  const closed = themes.data?.pages.flatMap(({ data }) => data).filter(({ enableApi }) => !enableApi) ?? []
  const isUsable = ({ playerId, status }: RecentVideo) =>
    status?.playable && closed.every((each) => each.playerId !== playerId)
  return {
    videos: (videos.data?.data.filter(isUsable) ?? []).sort(
      (one, other) => Number(other.playerId === themeId) - Number(one.playerId === themeId),
    ),
    error: videos.error ?? themes.error,
    isPending: videos.isPending || themes.isPending,
  }
}
