import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { newestVideosQuery } from '../../../api/home.ts'
import { type PlayerTheme, themesQuery } from '../../../api/themes.ts'
import type { ListedVideo } from '../../../api/videos.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { classNames } from '../../../ui/class-names.ts'
import { Panel } from '../../../ui/panel.tsx'
import { ErrorText } from '../../../ui/states.tsx'
import { titleOf } from '../../../ui/title-of.ts'
import styles from './preview.module.css'
import { PreviewPlayer } from './preview-player.tsx'

const choiceCount = 50

/** The player with a theme that may not be saved yet, on a video of choice. */
export function Preview({ theme }: { theme: PlayerTheme }) {
  const id = useId()
  const { videos, error, isPending } = usePreviewVideos(theme.playerId)
  const [chosen, setChosen] = useState<string>()
  const video = videos.find(({ videoId }) => videoId === chosen) ?? videos[0]
  // A newer video must not replace the one that is shown.
  if (video && chosen === undefined) setChosen(video.videoId)
  return (
    <Panel
      title={messages.themes.preview}
      actions={
        (isPending || video) && (
          <div className={styles.choice}>
            <label htmlFor={id}>{messages.themes.previewVideo}</label>
            <select
              id={id}
              className={classNames('select', styles.select)}
              disabled={isPending}
              value={video?.videoId}
              onChange={(event) => setChosen(event.target.value)}
            >
              {videos.map(({ videoId, title }) => (
                <option key={videoId} value={videoId}>
                  {titleOf(title)}
                </option>
              ))}
            </select>
          </div>
        )
      }
    >
      {isPending ? (
        <>
          <div className={styles.blank} />
          <p className="secondary">{messages.themes.previewHint}</p>
        </>
      ) : error ? (
        <ErrorText error={error} />
      ) : video ? (
        <>
          <PreviewPlayer key={video.videoId} url={video.assets.player} theme={theme} />
          <p className="secondary">{messages.themes.previewHint}</p>
        </>
      ) : (
        <p className="secondary">{messages.themes.previewNone}</p>
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
  const videos = useQuery(newestVideosQuery(environment, choiceCount))
  const closed = themes.data?.pages.flatMap(({ data }) => data).filter(({ enableApi }) => !enableApi) ?? []
  const isUsable = ({ playerId, status }: ListedVideo) =>
    status.playable && closed.every((each) => each.playerId !== playerId)
  return {
    videos: (videos.data?.data.filter(isUsable) ?? []).sort(
      (one, other) => Number(other.playerId === themeId) - Number(one.playerId === themeId),
    ),
    error: videos.data && themes.data ? null : (videos.error ?? themes.error),
    isPending: videos.isPending || themes.isPending,
  }
}
