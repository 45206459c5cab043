import { useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import type { Video, VideoStatus } from '../../../api/types.ts'
import { isArriving } from '../../../api/video-status.ts'
import { messages } from '../../../messages/messages.ts'
import { classNames } from '../../../ui/class-names.ts'
import { Page } from '../../../ui/page.tsx'
import { type Tab, Tabs } from '../../../ui/tabs.tsx'
import { titleOf } from '../../../ui/title-of.ts'
import { DetailsTab } from './details/details-tab.tsx'
import { EmbedTab } from './embed/embed-tab.tsx'
import { EventsTab } from './events/events-tab.tsx'
import { FilesTab } from './files/files-tab.tsx'
import { PlayerFrame } from './player/player-frame.tsx'
import { PlayerLink } from './player/player-link.ts'
import { PlayerContext } from './player/use-player.ts'
import { ProgressPanel } from './progress-panel.tsx'
import { ThumbnailTab } from './thumbnail/thumbnail-tab.tsx'
import { TracksTab } from './tracks/tracks-tab.tsx'
import { TranscriptTab } from './transcript/transcript-tab.tsx'
import { VideoActions } from './video-actions.tsx'
import { VideoFacts } from './video-facts.tsx'
import styles from './video-page.module.css'
import { stateOf } from './video-state.ts'

/** `loadedAt` changes whenever anything of the video may have changed, for example its thumbnail. */
type VideoPageProps = { video: Video; status: VideoStatus; loadedAt: number }

export function VideoPage({ video, status, loadedAt }: VideoPageProps) {
  const [version, setVersion] = useState(0)
  const player = useMemo(() => ({ link: new PlayerLink(), reload: () => setVersion((each) => each + 1) }), [])
  const [tab, setTab] = useTab()
  const isFollowing = tab === 'captions' || tab === 'chapters'
  const state = stateOf(status)
  const isComplete = status.ingest !== null && !isArriving(status)
  const labels = messages.video.tabs
  const tabs: Tab[] = [
    {
      value: 'details',
      label: labels.details,
      content: <DetailsTab video={video} isComplete={isComplete} />,
      isKept: true,
    },
    {
      value: 'embed',
      label: labels.embed,
      content: <EmbedTab video={video} isBroken={state.name === 'failed'} />,
    },
    {
      value: 'thumbnail',
      label: labels.thumbnail,
      content: <ThumbnailTab video={video} status={status} loadedAt={loadedAt} />,
    },
    {
      value: 'captions',
      label: labels.captions,
      content: <TracksTab video={video} status={status} kind="captions" />,
      isKept: true,
    },
    {
      value: 'chapters',
      label: labels.chapters,
      content: <TracksTab video={video} status={status} kind="chapters" />,
      isKept: true,
    },
    {
      value: 'transcript',
      label: labels.transcript,
      content: <TranscriptTab video={video} status={status} />,
      isKept: true,
    },
    { value: 'files', label: labels.files, content: <FilesTab video={video} status={status} /> },
    { value: 'events', label: labels.events, content: <EventsTab videoId={video.videoId} /> },
  ]
  return (
    <PlayerContext value={player}>
      <Page
        title={titleOf(video.title)}
        parents={[{ label: messages.navigation.videos, to: '/$environment/videos' }]}
        intro={<VideoFacts video={video} status={status} />}
        actions={<VideoActions video={video} status={status} />}
      >
        <Tabs
          label={labels.label}
          tabs={tabs}
          value={tabs.some(({ value }) => value === tab) ? tab : 'details'}
          onChange={setTab}
          layout={(panels) => (
            <div className={styles.columns}>
              <div className={classNames(styles.media, isFollowing && styles.following)}>
                <PlayerFrame video={video} version={version} />
                {state.name !== 'ready' && <ProgressPanel video={video} status={status} />}
              </div>
              <div className={styles.panels}>{panels}</div>
            </div>
          )}
        />
      </Page>
    </PlayerContext>
  )
}

/** The tab is part of the URL, so that it can be linked and survives a reload. */
function useTab() {
  const { tab = 'details' } = useSearch({ from: '/$environment/videos/$videoId' })
  const navigate = useNavigate()
  const setTab = (next: string) =>
    void navigate({ to: '.', search: { tab: next }, replace: true, resetScroll: false })
  return [tab, setTab] as const
}
