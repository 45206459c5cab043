import { useQueryClient } from '@tanstack/react-query'
import { Suspense, useState } from 'react'
import { deleteWatermark, type Watermark, watermarkImage, watermarksQuery } from '../../api/watermarks.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { lazyWithRetry } from '../../ui/load-with-retry.ts'
import { Time } from '../../ui/time.tsx'
import { showToast } from '../../ui/toast-list.ts'
import styles from './watermark-card.module.css'

const UploadVideosDialog = lazyWithRetry(() => import('./upload-videos-dialog.tsx'))

export function WatermarkCard({ watermark: { watermarkId, createdAt } }: { watermark: Watermark }) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const [isDeleting, setDeleting] = useState(false)
  const [isUsing, setUsing] = useState(false)
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
        <code className={styles.id} title={watermarkId}>
          {watermarkId}
        </code>
        <CopyButton text={watermarkId} label={messages.watermarks.copyId} isIcon />
      </div>
      <div className={styles.foot}>
        <span className="secondary">
          <Time value={createdAt} />
        </span>
        <Button onClick={() => setUsing(true)}>
          {messages.watermarks.useShort}
          <span className="visually-hidden"> {watermarkId}</span>
        </Button>
        <IconButton
          icon="trash"
          label={messages.watermarks.delete(watermarkId)}
          onClick={() => setDeleting(true)}
        />
      </div>
      <Suspense>
        {isUsing && <UploadVideosDialog watermarkId={watermarkId} onClose={() => setUsing(false)} />}
      </Suspense>
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
