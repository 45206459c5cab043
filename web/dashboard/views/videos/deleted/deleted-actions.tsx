import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type DiscardedVideo, deletePermanently, restoreVideo } from '../../../api/videos.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { titleOf } from '../../../ui/title-of.ts'
import { showError, showToast } from '../../../ui/toast-list.ts'
import { ignoreMissing } from '../bulk/bulk-actions.ts'
import styles from './deleted-videos.module.css'

/** Restores a deleted video, or deletes it permanently. */
export function DeletedActions({ video: { videoId, title } }: { video: DiscardedVideo }) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const [isRestoring, setRestoring] = useState(false)
  const [isRemoving, setRemoving] = useState(false)
  const t = messages.videos.deleted
  const name = titleOf(title)
  const reload = () => client.invalidateQueries({ queryKey: [environment, 'videos'] })
  const restore = async () => {
    setRestoring(true)
    try {
      await restoreVideo(environment, videoId)
      await reload()
      showToast(t.restored(name))
    } catch (error) {
      showError(error as Error)
    } finally {
      setRestoring(false)
    }
  }
  const remove = async () => {
    await deletePermanently(environment, videoId).catch(ignoreMissing)
    await reload()
    showToast(t.removed(name))
  }
  return (
    <div className={styles.actions}>
      <Button disabled={isRestoring} onClick={restore}>
        {t.restore}
        <span className="visually-hidden"> {name}</span>
      </Button>
      <Button variant="quiet" onClick={() => setRemoving(true)}>
        {t.remove}
        <span className="visually-hidden"> {name}</span>
      </Button>
      <ConfirmDialog
        isOpen={isRemoving}
        onClose={() => setRemoving(false)}
        title={t.removeTitle(name)}
        description={t.removeText}
        action={t.remove}
        onConfirm={remove}
      />
    </div>
  )
}
