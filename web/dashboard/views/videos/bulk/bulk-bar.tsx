import { useState } from 'react'
import type { VideoFilters } from '../../../api/videos.ts'
import { useRestoreTime } from '../../../app/restore-time.ts'
import { messages } from '../../../messages/messages.ts'
import { Button, IconButton } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { formatNumber } from '../../../ui/format.ts'
import type { Selection } from '../list/selection.ts'
import styles from './bulk.module.css'
import { BulkDialog } from './bulk-dialog.tsx'
import { TagsDialog } from './tags-dialog.tsx'
import { useBulk } from './use-bulk.ts'

type BulkBarProps = { filters: VideoFilters; total: number; selection: Selection; onSelectLoaded(): void }

/** What can be done with the selected videos. */
export default function BulkBar({ filters, total, selection, onSelectLoaded }: BulkBarProps) {
  const restoreTime = useRestoreTime()
  const bulk = useBulk(filters, selection)
  const [dialog, setDialog] = useState<'delete' | 'tags' | 'public' | 'private'>()
  const { count, isAll } = selection
  const t = messages.videos.bulk
  return (
    <>
      {count > 0 && (
        <section className={styles.bar} aria-label={t.label}>
          <strong role="status">{t.selected(formatNumber(count))}</strong>
          {!isAll && count < total && (
            <>
              <Button variant="quiet" className={styles.loaded} onClick={onSelectLoaded}>
                {t.selectLoaded}
              </Button>
              <Button variant="quiet" onClick={selection.selectAll}>
                {t.selectAll(formatNumber(total))}
              </Button>
            </>
          )}
          <span className={styles.space} />
          <Button icon="tag" onClick={() => setDialog('tags')}>
            <span className="label-if-wide">{t.tags}</span>
          </Button>
          <Button icon="globe" onClick={() => setDialog('public')}>
            <span className="label-if-wide">{t.makePublic}</span>
          </Button>
          <Button icon="lock" onClick={() => setDialog('private')}>
            <span className="label-if-wide">{t.makePrivate}</span>
          </Button>
          <Button icon="trash" variant="danger" onClick={() => setDialog('delete')}>
            <span className="label-if-wide">{messages.actions.delete}</span>
          </Button>
          <IconButton icon="close" label={t.clear} onClick={selection.clear} />
        </section>
      )}
      <ConfirmDialog
        isOpen={dialog === 'delete'}
        onClose={() => setDialog(undefined)}
        title={t.deleteTitle(count)}
        description={restoreTime ? t.deleteRestorable(restoreTime) : t.deleteForever}
        action={t.deleteAction(count)}
        onConfirm={async () => bulk.start({ kind: 'delete' })}
      />
      <ConfirmDialog
        isOpen={dialog === 'public' || dialog === 'private'}
        onClose={() => setDialog(undefined)}
        title={dialog === 'public' ? t.publicTitle(count) : t.privateTitle(count)}
        description={dialog === 'public' ? t.publicText : t.privateText}
        action={dialog === 'public' ? t.makePublic : t.makePrivate}
        isDangerous={false}
        onConfirm={async () => bulk.start({ kind: 'public', isPublic: dialog === 'public' })}
      />
      <TagsDialog
        isOpen={dialog === 'tags'}
        onClose={() => setDialog(undefined)}
        count={count}
        onSave={(change) => bulk.start({ kind: 'tags', change })}
      />
      <BulkDialog run={bulk.run} onStop={bulk.stop} />
    </>
  )
}
