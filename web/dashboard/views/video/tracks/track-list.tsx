import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ownPath } from '../../../api/own-path.ts'
import { deleteTrack, setDefaultCaptions, tracksQuery } from '../../../api/tracks.ts'
import type { Video } from '../../../api/types.ts'
import type { Track, TrackKind } from '../../../api/video-types.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { texts } from '../../../texts/texts.ts'
import { Badge } from '../../../ui/badge.tsx'
import { Button, buttonClass, IconButton } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { Menu, MenuItem } from '../../../ui/menu.tsx'
import { ErrorText } from '../../../ui/states.tsx'
import { Table } from '../../../ui/table.tsx'
import { showToast } from '../../../ui/toast-list.ts'
import { languageName } from '../details/languages.ts'
import { usePlayer } from '../player/use-player.ts'
import styles from './tracks.module.css'

const words = texts.video.tracks

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
                {isDefault && <Badge look="info">{words.default}</Badge>}
              </>
            ),
          },
          {
            label: <span className="visually-hidden">{texts.actions.more}</span>,
            isNumber: true,
            cell: (track) => (
              <div className={styles.actions}>
                <Button look="quiet" icon="edit" onClick={() => onEdit(track.language)}>
                  {words.editCues}
                  <span className="visually-hidden"> {languageName(track.language)}</span>
                </Button>
                <a
                  className={buttonClass('quiet')}
                  href={ownPath(track.src)}
                  download={`${video.title || video.videoId}.${track.language}.vtt`}
                >
                  <Icon name="download" size={16} />
                  {words.download}
                  <span className="visually-hidden"> {languageName(track.language)}</span>
                </a>
                <Menu trigger={<IconButton icon="more" label={texts.actions.more} />}>
                  {kind === 'captions' && (
                    <MenuItem icon="check" onSelect={() => setDefault.mutate(track)}>
                      {track.isDefault ? words.noDefault : words.makeDefault}
                    </MenuItem>
                  )}
                  <MenuItem icon="trash" isDangerous onSelect={() => setDeleting(track)}>
                    {texts.actions.delete}
                  </MenuItem>
                </Menu>
              </div>
            ),
          },
        ]}
      />
      <ConfirmDialog
        isOpen={deleting !== undefined}
        onClose={() => setDeleting(undefined)}
        title={words[kind].deleteTitle(languageName(deleting?.language ?? ''))}
        description={words.deleteText}
        action={texts.actions.delete}
        onConfirm={async () => {
          await deleteTrack(environment, { videoId, kind, language: deleting!.language })
          await changed()
          showToast(words.deleted)
        }}
      />
    </>
  )
}
