import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type Track, type TrackKind, tracksQuery, trackTextQuery } from '../../../../api/tracks.ts'
import type { Video, VideoStatus } from '../../../../api/types.ts'
import { useEnvironment } from '../../../../app/environment.ts'
import { messages } from '../../../../messages/messages.ts'
import { Button } from '../../../../ui/button.tsx'
import { EmptyState, ErrorState, Loading } from '../../../../ui/states.tsx'
import { CreateTrackDialog } from './create-track-dialog.tsx'
import { CueEditor } from './cue-editor.tsx'
import { TrackList } from './track-list.tsx'
import styles from './tracks.module.css'
import { UploadTrackDialog } from './upload-track-dialog.tsx'

type TracksTabProps = { video: Video; status: VideoStatus; kind: TrackKind }

/** Captions or chapters: the languages, or the cues of one of them. */
export function TracksTab({ video, status, kind }: TracksTabProps) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const tracks = useQuery(tracksQuery(environment, video.videoId, kind))
  /** The language that is edited. Nothing is stored of a new one. */
  const [edited, setEdited] = useState<{ language: string; isNew: boolean }>()
  if (tracks.isPending) return <Loading />
  if (tracks.error && !tracks.data)
    return <ErrorState error={tracks.error} onRetry={() => tracks.refetch()} />
  if (edited) {
    const { duration } = status.encoding.metadata
    return (
      <CueEditor
        id={{ videoId: video.videoId, kind, language: edited.language }}
        isNew={edited.isNew}
        durationMs={(duration ?? 0) * 1000}
        onSaved={() => setEdited({ ...edited, isNew: false })}
        onClose={() => setEdited(undefined)}
      />
    )
  }
  return (
    <Languages
      video={video}
      kind={kind}
      tracks={tracks.data ?? []}
      onEdit={(language, isNew = false) => {
        // A new file begins empty, also if one in this language was shown and deleted before.
        if (isNew)
          client.removeQueries(trackTextQuery(environment, { videoId: video.videoId, kind, language }))
        setEdited({ language, isNew })
      }}
    />
  )
}

type LanguagesProps = {
  video: Video
  kind: TrackKind
  tracks: Track[]
  onEdit(language: string, isNew?: boolean): void
}

function Languages({ video, kind, tracks, onEdit }: LanguagesProps) {
  const [dialog, setDialog] = useState<'upload' | 'create'>()
  const words = messages.video.tracks[kind]
  const close = () => setDialog(undefined)
  const buttons = (
    <>
      <Button variant="primary" icon="upload" onClick={() => setDialog('upload')}>
        {messages.video.tracks.upload}
      </Button>
      <Button icon="edit" onClick={() => setDialog('create')}>
        {words.create}
      </Button>
    </>
  )
  return (
    <div className={styles.tab}>
      {tracks.length === 0 ? (
        <EmptyState icon="captions" title={words.emptyTitle} actions={buttons}>
          {words.empty}
        </EmptyState>
      ) : (
        <>
          <div className={styles.buttons}>{buttons}</div>
          <TrackList video={video} kind={kind} tracks={tracks} onEdit={onEdit} />
        </>
      )}
      {dialog === 'upload' && (
        <UploadTrackDialog videoId={video.videoId} kind={kind} tracks={tracks} onClose={close} />
      )}
      {dialog === 'create' && (
        <CreateTrackDialog
          kind={kind}
          tracks={tracks}
          suggestion={video.language ?? ''}
          onClose={close}
          onCreate={(language) => {
            close()
            onEdit(language, true)
          }}
        />
      )}
    </div>
  )
}
