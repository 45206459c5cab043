import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useCallback, useState } from 'react'
import { useSession } from '../../../api/session.ts'
import type { Video } from '../../../api/types.ts'
import { fetchVideo } from '../../../api/video.ts'
import { deleteVideo, restoreVideo } from '../../../api/videos.ts'
import { useCommand } from '../../../app/commands.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { texts } from '../../../texts/texts.ts'
import { Button, buttonClass } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { copyText } from '../../../ui/copy-button.tsx'
import { formatPeriod } from '../../../ui/format.ts'
import { Icon } from '../../../ui/icon.tsx'
import { showError, showToast } from '../../../ui/toast-list.ts'

export function VideoActions({ video }: { video: Video }) {
  const environment = useEnvironment()
  const { restoreHours } = useSession()
  const [isDeleting, setDeleting] = useState(false)
  const remove = useRemoval(video)
  useCommand({
    id: 'delete-video',
    label: texts.video.remove.action,
    run: useCallback(() => setDeleting(true), []),
  })
  const { videoId } = video
  const iframe = video.public ? video.assets.iframe : undefined
  useCommand({
    id: 'copy-embed-code',
    label: texts.video.embed.copyCode,
    run: useCallback(() => {
      // The player of the page has used up the one that came with a private video.
      const code = iframe ?? fetchVideo(environment, videoId).then(({ assets }) => assets.iframe)
      Promise.resolve(code)
        .then(copyText)
        .then(() => showToast(texts.actions.copied), showError)
    }, [environment, videoId, iframe]),
  })
  const name = video.title || texts.video.untitled
  return (
    <>
      <Link
        to="/$environment/viewers"
        params={{ environment }}
        search={{ media: video.videoId }}
        className={buttonClass()}
      >
        <Icon name="chart" size={16} />
        {texts.video.analytics}
      </Link>
      <Button icon="trash" onClick={() => setDeleting(true)}>
        {texts.actions.delete}
      </Button>
      <ConfirmDialog
        isOpen={isDeleting}
        onClose={() => setDeleting(false)}
        title={texts.video.remove.title(name)}
        description={
          restoreHours > 0
            ? texts.video.remove.restorable(formatPeriod(restoreHours * 3600))
            : texts.video.remove.final
        }
        action={texts.video.remove.action}
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
      showToast(texts.video.remove.restored)
    }, showError)
  return async () => {
    await deleteVideo(environment, videoId)
    const action = restoreHours > 0 ? { label: texts.actions.undo, run: undo } : undefined
    showToast(texts.video.remove.deleted(title || texts.video.untitled), action)
    await navigate({ to: '/$environment/videos', params: { environment }, ignoreBlocker: true })
    await client.invalidateQueries({ queryKey: [environment, 'videos', 'list'] })
    client.removeQueries({ queryKey: [environment, 'videos', videoId] })
  }
}
