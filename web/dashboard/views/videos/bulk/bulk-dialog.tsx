import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { Dialog, DialogActions } from '../../../ui/dialog.tsx'
import { formatNumber } from '../../../ui/format.ts'
import { Progress } from '../../../ui/progress.tsx'
import styles from './bulk.module.css'
import type { BulkRun } from './use-bulk-run.ts'

const maxShown = 50

/** The progress of an action on many videos, and what has failed. */
export function BulkDialog({ run, onStop }: { run: BulkRun | undefined; onStop(): void }) {
  const t = messages.videos.bulk
  if (!run) return null
  const { label, phase, finished, total, failures, retry } = run
  if (phase === 'failed') {
    return (
      <Dialog
        isOpen
        onClose={onStop}
        title={label}
        description={t.summary(formatNumber(finished), formatNumber(failures.length))}
      >
        <ul className={styles.failures}>
          {failures.slice(0, maxShown).map(({ videoId, message }) => (
            <li key={videoId}>
              <code>{videoId}</code> {message}
            </li>
          ))}
          {failures.length > maxShown && <li>{t.moreFailures(formatNumber(failures.length - maxShown))}</li>}
        </ul>
        <DialogActions>
          <Button onClick={onStop}>{messages.actions.close}</Button>
          <Button variant="primary" onClick={retry}>
            {t.retry}
          </Button>
        </DialogActions>
      </Dialog>
    )
  }
  const description = (phase === 'collecting' ? t.collecting : t.progress)(
    formatNumber(finished),
    formatNumber(total),
  )
  return (
    <Dialog isOpen onClose={onStop} title={label} description={description}>
      <Progress fraction={total > 0 ? finished / total : 0} label={label} />
      <DialogActions>
        <Button onClick={onStop}>{t.stop}</Button>
      </DialogActions>
    </Dialog>
  )
}
