import { useState } from 'react'
import { useSession } from '../../api/session.ts'
import type { VideoFilters } from '../../api/videos.ts'
import { texts } from '../../texts/texts.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { formatNumber, formatSpan } from '../../ui/format.ts'
import styles from './bulk-bar.module.css'
import { BulkDialog } from './bulk-dialog.tsx'
import type { Selection } from './selection.ts'
import { TagsDialog } from './tags-dialog.tsx'
import { useBulk } from './use-bulk.ts'

type BulkBarProps = { filters: VideoFilters; total: number; selection: Selection; onSelectLoaded(): void }

/** What can be done with the selected videos. */
export function BulkBar({ filters, total, selection, onSelectLoaded }: BulkBarProps) {
  const { restoreHours } = useSession()
  const bulk = useBulk(filters, selection)
  const [dialog, setDialog] = useState<'delete' | 'tags'>()
  const { count, isAll } = selection
  const t = texts.videos.bulk
  const shown = formatNumber(count)
  return (
    <>
      {count > 0 && (
        <section className={styles.bar} aria-label={t.label}>
          <strong role="status">{t.selected(shown)}</strong>
          {!isAll && count < total && (
            <>
              <Button look="quiet" onClick={onSelectLoaded}>
                {t.selectLoaded}
              </Button>
              <Button look="quiet" onClick={selection.selectAll}>
                {t.selectAll(formatNumber(total))}
              </Button>
            </>
          )}
          <span className={styles.space} />
          <Button icon="tag" onClick={() => setDialog('tags')}>
            {t.tags}
          </Button>
          <Button icon="globe" onClick={() => bulk.start({ kind: 'public', isPublic: true })}>
            {t.makePublic}
          </Button>
          <Button icon="lock" onClick={() => bulk.start({ kind: 'public', isPublic: false })}>
            {t.makePrivate}
          </Button>
          <Button icon="trash" look="danger" onClick={() => setDialog('delete')}>
            {texts.actions.delete}
          </Button>
          <IconButton icon="close" label={t.clear} onClick={selection.clear} />
        </section>
      )}
      <ConfirmDialog
        isOpen={dialog === 'delete'}
        onClose={() => setDialog(undefined)}
        title={t.deleteTitle(shown)}
        description={
          restoreHours > 0 ? t.deleteRestorable(formatSpan(restoreHours * 3_600)) : t.deleteForever
        }
        action={t.deleteAction(shown)}
        onConfirm={async () => bulk.start({ kind: 'delete' })}
      />
      <TagsDialog
        isOpen={dialog === 'tags'}
        onClose={() => setDialog(undefined)}
        count={shown}
        onSave={(change) => bulk.start({ kind: 'tags', change })}
      />
      <BulkDialog run={bulk.run} onStop={bulk.stop} />
    </>
  )
}
