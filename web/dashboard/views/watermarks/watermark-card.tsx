import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { deleteWatermark, type Watermark, watermarkImage, watermarksQuery } from '../../api/watermarks.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { IconButton } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Time } from '../../ui/time.tsx'
import { showToast } from '../../ui/toast-list.ts'
import styles from './watermark-card.module.css'

export function WatermarkCard({ watermark: { watermarkId, createdAt } }: { watermark: Watermark }) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const [isDeleting, setDeleting] = useState(false)
  return (
    <li className={styles.card}>
      <div className={styles.picture}>
        <img
          src={watermarkImage(environment, watermarkId)}
          alt={messages.watermarks.image(watermarkId)}
          loading="lazy"
          decoding="async"
        />
      </div>
      <div className={styles.foot}>
        <div className={styles.facts}>
          <code title={watermarkId}>{watermarkId}</code>
          <span className="secondary">
            <Time value={createdAt} />
          </span>
        </div>
        <CopyButton text={watermarkId} label={messages.watermarks.copyId} isIcon />
        <IconButton
          icon="trash"
          label={messages.watermarks.delete(watermarkId)}
          onClick={() => setDeleting(true)}
        />
      </div>
      <ConfirmDialog
        isOpen={isDeleting}
        onClose={() => setDeleting(false)}
        title={messages.watermarks.deleteTitle}
        description={messages.watermarks.deleteText}
        action={messages.actions.delete}
        onConfirm={async () => {
          await deleteWatermark(environment, watermarkId)
          await client.invalidateQueries(watermarksQuery(environment))
          showToast(messages.watermarks.deleted)
        }}
      />
    </li>
  )
}
