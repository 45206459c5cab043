import { type ReactNode, useState } from 'react'
import { deletePermanently, listIds } from '../../../api/videos.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { showToast } from '../../../ui/toast-list.ts'
import type { Task } from '../bulk/bulk.ts'
import { ignoreMissing } from '../bulk/bulk-actions.ts'
import { BulkDialog } from '../bulk/bulk-dialog.tsx'
import { useBulkRun } from '../bulk/use-bulk-run.ts'
import styles from './deleted-videos.module.css'

/** Deletes all deleted videos permanently. It stays while they are deleted, although the list is empty then. */
export function RemoveAll({ total, children }: { total: number; children: ReactNode }) {
  const environment = useEnvironment()
  const { run, begin, collect, process, stop } = useBulkRun()
  const [isOpen, setOpen] = useState(false)
  const t = messages.videos.deleted
  const remove: Task = (videoId, signal) =>
    deletePermanently(environment, videoId, signal).catch(ignoreMissing)
  const start = () =>
    begin(async () => {
      const ids = await collect(t.removing, listIds(environment, '/discarded/videos', {}), total)
      const removed = await process(t.removing, ids, remove)
      if (removed.length > 0) showToast(t.removedAll(removed.length))
    })
  return (
    <>
      {total > 0 && (
        <div className={styles.head}>
          <p className="secondary">{children}</p>
          <Button icon="trash" onClick={() => setOpen(true)}>
            {t.removeAll}
          </Button>
        </div>
      )}
      <ConfirmDialog
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        title={t.removeAllTitle(total)}
        description={t.removeAllText}
        action={t.removeAll}
        onConfirm={async () => start()}
      />
      <BulkDialog run={run} onStop={stop} />
    </>
  )
}
