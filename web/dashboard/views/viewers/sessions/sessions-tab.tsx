import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { isTooOld } from '../../../api/analytics.ts'
import { loadAllSessions, type MediaRef, sessionsQuery } from '../../../api/viewing-sessions.ts'
import { messages } from '../../../messages/messages.ts'
import { Pager } from '../../../ui/pager.tsx'
import { Panel } from '../../../ui/panel.tsx'
import { EmptyState, ErrorState, Loading } from '../../../ui/states.tsx'
import { CsvButton } from '../csv-button.tsx'
import { useMedia, useMediaTitles } from '../filters/media-names.ts'
import { useViewersSearch } from '../use-viewers-search.ts'
import { sessionSheet } from './session-csv.ts'
import { SessionItem } from './session-item.tsx'
import styles from './sessions-tab.module.css'
import { ViewerForm } from './viewer-form.tsx'

/** The latest sessions, or those of one viewer, of one video or live stream, or of both. */
export default function SessionsTab() {
  const { search } = useViewersSearch()
  const { viewerKey, viewer, media: mediaId } = search
  const media = useMedia(mediaId)
  const isGone = useMediaTitles(mediaId ? [mediaId] : []).get(mediaId ?? '') === null
  return (
    <div className="stack">
      <ViewerForm key={`${viewerKey} ${viewer}`} />
      {isGone ? (
        <EmptyState icon="video" title={messages.viewers.sessionsGone} />
      ) : mediaId && !media ? (
        <Loading />
      ) : (
        <Sessions key={`${viewerKey} ${viewer} ${mediaId}`} media={media} />
      )}
    </div>
  )
}

/** The sessions of the viewer in the URL, of the media, of both, or of everybody. */
function Sessions({ media }: { media: MediaRef | undefined }) {
  const { environment, search, selections } = useViewersSearch()
  const { viewerKey: key, viewer: value } = search
  const [page, setPage] = useState(1)
  const of = { viewer: key && value !== undefined ? { key, value } : undefined, media }
  const sessions = useQuery(sessionsQuery(environment, selections.current, of, page))
  const name = [of.viewer && `${key} = ${value}`, media?.title].filter(Boolean).join(', ')
  const title = name ? messages.viewers.sessionsOf(name) : messages.viewers.sessionsLatest
  if (sessions.isPending) return <Loading />
  if (!sessions.data) {
    return isTooOld(sessions.error) ? (
      <EmptyState icon="clock" title={messages.viewers.emptyTitle}>
        {messages.viewers.tooOld}
      </EmptyState>
    ) : (
      <ErrorState error={sessions.error} onRetry={() => sessions.refetch()} />
    )
  }
  const { data, pagination } = sessions.data
  return (
    <Panel
      title={<bdi>{title}</bdi>}
      actions={
        <CsvButton
          name={title}
          load={async () => sessionSheet(await loadAllSessions(environment, selections.current, of))}
        />
      }
    >
      {data.length === 0 ? (
        <p className="secondary">{messages.viewers.sessionsNone}</p>
      ) : (
        <ul className={styles.list}>
          {data.map((session) => (
            <SessionItem key={session.session.sessionId} session={session} />
          ))}
        </ul>
      )}
      <Pager page={page} pagination={pagination} onChange={setPage} />
    </Panel>
  )
}
