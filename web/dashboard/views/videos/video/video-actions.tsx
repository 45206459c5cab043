import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useCallback, useState } from 'react'
import { ownPath } from '../../../api/own-path.ts'
import { useSession } from '../../../api/session.ts'
import type { Video, VideoStatus } from '../../../api/types.ts'
import { deleteVideo, restoreVideo } from '../../../api/videos.ts'
import { useCommand } from '../../../app/commands.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { useRestoreTime } from '../../../app/restore-time.ts'
import { messages } from '../../../messages/messages.ts'
import { buttonClass, IconButton } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { copyText } from '../../../ui/copy-button.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { Menu, MenuItem, MenuLink, MenuSeparator } from '../../../ui/menu.tsx'
import { titleOf } from '../../../ui/title-of.ts'
import { showError, showToast } from '../../../ui/toast-list.ts'
import { ShareButton } from './share-button.tsx'
import { hasMp4, stateOf } from './video-state.ts'

const { embed, files, remove: words, analytics } = messages.video

/** The embed code, which most people come for, and everything else in a menu. */
export function VideoActions({ video, status }: { video: Video; status: VideoStatus }) {
  const environment = useEnvironment()
  const restoreTime = useRestoreTime()
  const [isDeleting, setDeleting] = useState(false)
  const remove = useRemoval(video)
  useCommand({ id: 'delete-video', label: words.action, run: useCallback(() => setDeleting(true), []) })
  const { player, mp4 } = video.assets
  const { name } = stateOf(status)
  const isShared = name !== 'empty' && name !== 'failed'
  const copyLink = () => void copyText(player).then(() => showToast(messages.actions.copied), showError)
  return (
    <>
      <Link
        to="/$environment/viewers"
        params={{ environment }}
        search={{ media: video.videoId }}
        className={buttonClass()}
      >
        <Icon name="chart" size={16} />
        {analytics}
      </Link>
      {isShared && <ShareButton video={video} />}
      <Menu trigger={<IconButton variant="plain" icon="more" label={messages.actions.more} />}>
        {isShared && video.public && (
          <MenuItem icon="link" onSelect={copyLink}>
            {embed.copyLink}
          </MenuItem>
        )}
        {mp4 && hasMp4(status) && (
          <MenuLink icon="download" href={`${ownPath(mp4)}?dl=1`} download>
            {files.download}
          </MenuLink>
        )}
        {isShared && <MenuSeparator />}
        <MenuItem icon="trash" isDangerous onSelect={() => setDeleting(true)}>
          {words.action}
        </MenuItem>
      </Menu>
      <ConfirmDialog
        isOpen={isDeleting}
        onClose={() => setDeleting(false)}
        title={words.title(titleOf(video.title))}
        description={restoreTime ? words.restorable(restoreTime) : words.final}
        action={words.action}
        onConfirm={remove}
      />
    </>
  )
}

/** Deletes the video and goes to the list. Where deleted videos are kept, the message offers to undo it. */
function useRemoval({ videoId, title }: Video) {
  const environment = useEnvironment()
  const { restoreHours } = useSession()
  const client = useQueryClient()
  const navigate = useNavigate()
  const reload = () => client.invalidateQueries({ queryKey: [environment, 'videos'] })
  const undo = () =>
    void restoreVideo(environment, videoId).then(async () => {
      await reload()
      showToast(words.restored)
    }, showError)
  return async () => {
    await deleteVideo(environment, videoId)
    const action = restoreHours > 0 ? { label: messages.actions.undo, run: undo } : undefined
    showToast(words.deleted(titleOf(title)), action)
    await navigate({ to: '/$environment/videos', params: { environment }, ignoreBlocker: true })
    await client.invalidateQueries({ queryKey: [environment, 'videos', 'list'] })
    client.removeQueries({ queryKey: [environment, 'videos', videoId] })
  }
}
