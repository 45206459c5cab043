import { useState } from 'react'
import { initialWatermark, type WatermarkChoice, watermarkInput } from '../../api/watermarks.ts'
import { useEnvironment } from '../../app/environment.ts'
import { WatermarkSettings } from '../../fields/watermark-settings.tsx'
import { messages } from '../../messages/messages.ts'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { showError } from '../../ui/toast-list.ts'
import { pickUploads } from '../../upload/pick-uploads.ts'

type UploadVideosDialogProps = { watermarkId: string; onClose(): void }

/** Uploads videos that show a watermark. */
export default function UploadVideosDialog({ watermarkId, onClose }: UploadVideosDialogProps) {
  const environment = useEnvironment()
  const [watermark, setWatermark] = useState<WatermarkChoice>({ ...initialWatermark, id: watermarkId })
  const choose = () =>
    pickUploads(environment, { watermark: watermarkInput(watermark) }).then(
      (uploads) => uploads.length > 0 && onClose(),
      showError,
    )
  return (
    <FormDialog
      onClose={onClose}
      title={messages.watermarks.use}
      description={messages.watermarks.useText}
      action={messages.watermarks.chooseVideos}
      isDisabled={false}
      onSubmit={choose}
    >
      <WatermarkSettings value={watermark} onChange={setWatermark} />
    </FormDialog>
  )
}
