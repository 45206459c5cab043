import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useCallback, useState } from 'react'
import { useSession } from '../../../api/session.ts'
import type { Video } from '../../../api/types.ts'
import { fetchVideo } from '../../../api/video.ts'
import { deleteVideo, restoreVideo } from '../../../api/videos.ts'
import { useCommand } from '../../../app/commands.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { Button, buttonClass } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { copyText } from '../../../ui/copy-button.tsx'
import { formatPeriod } from '../../../ui/format.ts'
import { Icon } from '../../../ui/icon.tsx'
import { titleOf } from '../../../ui/title-of.ts'
import { showError, showToast } from '../../../ui/toast-list.ts'

export function VideoActions({ video }: { video: Video }) {
  const environment = useEnvironment()
  const { restoreHours } = useSession()
  const [isDeleting, setDeleting] = useState(false)
  const remove = useRemoval(video)
  useCommand({
    id: 'delete-video',
    label: messages.video.remove.action,
    run: useCallback(() => setDeleting(true), []),
  })
  const { videoId } = video
  const iframe = video.public ? video.assets.iframe : undefined
  useCommand({
    id: 'copy-embed-code',
    label: messages.video.embed.copyCode,
    run: useCallback(() => {
      // The player of the page has used up the one that came with a private video.
      const code = iframe ?? fetchVideo(environment, videoId).then(({ assets }) => assets.iframe)
      Promise.resolve(code)
        .then(copyText)
        .then(() => showToast(messages.actions.copied), showError)
    }, [environment, videoId, iframe]),
  })
  const name = titleOf(video.title)
  return (
    <>
      <Link
        to="/$environment/viewers"
        params={{ environment }}
        search={{ media: video.videoId }}
        className={buttonClass()}
      >
        <Icon name="chart" size={16} />
        {messages.video.analytics}
      </Link>
      <Button icon="trash" onClick={() => setDeleting(true)}>
        {messages.actions.delete}
      </Button>
      <ConfirmDialog
        isOpen={isDeleting}
        onClose={() => setDeleting(false)}
        title={messages.video.remove.title(name)}
        description={
          restoreHours > 0
            ? messages.video.remove.restorable(formatPeriod(restoreHours * 3600))
            : messages.video.remove.final
        }
        action={messages.video.remove.action}
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
      showToast(messages.video.remove.restored)
    }, showError)
  return async () => {
    await deleteVideo(environment, videoId)
    const action = restoreHours > 0 ? { label: messages.actions.undo, run: undo } : undefined
    showToast(messages.video.remove.deleted(titleOf(title)), action)
    await navigate({ to: '/$environment/videos', params: { environment }, ignoreBlocker: true })
    await client.invalidateQueries({ queryKey: [environment, 'videos', 'list'] })
    client.removeQueries({ queryKey: [environment, 'videos', videoId] })
  }
}
