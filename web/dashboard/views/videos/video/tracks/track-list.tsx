import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ownPath } from '../../../../api/own-path.ts'
import {
  deleteTrack,
  setDefaultCaptions,
  type Track,
  type TrackKind,
  tracksQuery,
} from '../../../../api/tracks.ts'
import type { Video } from '../../../../api/types.ts'
import { useEnvironment } from '../../../../app/environment.ts'
import { messages } from '../../../../messages/messages.ts'
import { Badge } from '../../../../ui/badge.tsx'
import { Button, buttonClass, IconButton } from '../../../../ui/button.tsx'
import { ConfirmDialog } from '../../../../ui/confirm-dialog.tsx'
import { Icon } from '../../../../ui/icon.tsx'
import { Menu, MenuItem } from '../../../../ui/menu.tsx'
import { ErrorText } from '../../../../ui/states.tsx'
import { Table } from '../../../../ui/table.tsx'
import { showToast } from '../../../../ui/toast-list.ts'
import { languageName } from '../details/languages.ts'
import { usePlayer } from '../player/use-player.ts'
import styles from './tracks.module.css'

const words = messages.video.tracks

type TrackListProps = { video: Video; kind: TrackKind; tracks: Track[]; onEdit(language: string): void }

export function TrackList({ video, kind, tracks, onEdit }: TrackListProps) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const { reload } = usePlayer()
  const { videoId } = video
  const [deleting, setDeleting] = useState<Track>()
  const changed = async () => {
    reload()
    await client.invalidateQueries(tracksQuery(environment, videoId, kind))
  }
  const setDefault = useMutation({
    mutationFn: ({ language, isDefault }: Track) =>
      setDefaultCaptions(environment, { videoId, kind, language }, !isDefault),
    onSuccess: changed,
  })
  return (
    <>
      {setDefault.error && <ErrorText error={setDefault.error} />}
      <Table
        label={words[kind].title}
        rows={tracks}
        keyOf={({ language }) => language}
        columns={[
          {
            label: words.language,
            cell: ({ language, isDefault }) => (
              <>
                {languageName(language)} <code>{language}</code>{' '}
                {isDefault && <Badge variant="info">{words.default}</Badge>}
              </>
            ),
          },
          {
            label: <span className="visually-hidden">{messages.actions.more}</span>,
            isNumber: true,
            cell: (track) => (
              <TrackActions
                title={video.title || videoId}
                kind={kind}
                track={track}
                onEdit={() => onEdit(track.language)}
                onSetDefault={() => setDefault.mutate(track)}
                onDelete={() => setDeleting(track)}
              />
            ),
          },
        ]}
      />
      <ConfirmDialog
        isOpen={deleting !== undefined}
        onClose={() => setDeleting(undefined)}
        title={words[kind].deleteTitle(languageName(deleting?.language ?? ''))}
        description={words.deleteText}
        action={messages.actions.delete}
        onConfirm={async () => {
          await deleteTrack(environment, { videoId, kind, language: deleting!.language })
          await changed()
          showToast(words.deleted)
        }}
      />
    </>
  )
}

type TrackActionsProps = {
  /** The title of the video, for the name of the file. */
  title: string
  kind: TrackKind
  track: Track
  onEdit(): void
  onSetDefault(): void
  onDelete(): void
}

function TrackActions({ title, kind, track, onEdit, onSetDefault, onDelete }: TrackActionsProps) {
  const { language, isDefault, src } = track
  const name = <span className="visually-hidden"> {languageName(language)}</span>
  return (
    <div className={styles.actions}>
      <Button variant="quiet" icon="edit" onClick={onEdit}>
        {words.editCues}
        {name}
      </Button>
      <a className={buttonClass('quiet')} href={ownPath(src)} download={`${title}.${language}.vtt`}>
        <Icon name="download" size={16} />
        {words.download}
        {name}
      </a>
      <Menu trigger={<IconButton icon="more" label={messages.actions.more} />}>
        {kind === 'captions' && (
          <MenuItem icon="check" onSelect={onSetDefault}>
            {isDefault ? words.noDefault : words.makeDefault}
          </MenuItem>
        )}
        <MenuItem icon="trash" isDangerous onSelect={onDelete}>
          {messages.actions.delete}
        </MenuItem>
      </Menu>
    </div>
  )
}
