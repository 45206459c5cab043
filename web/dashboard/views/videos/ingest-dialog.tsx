import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiProblem } from '../../api/problem.ts'
import { importVideo } from '../../api/videos.ts'
import { type WatermarkChoice, watermarkInput } from '../../api/watermarks.ts'
import { useEnvironment } from '../../app/environment.ts'
import { WatermarkField } from '../../fields/watermark-field.tsx'
import { messages } from '../../messages/messages.ts'
import { CheckField, TextField } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { showToast } from '../../ui/toast-list.ts'

type Form = { source: string; title: string; isPublic: boolean; watermark: WatermarkChoice | undefined }

const initial: Form = { source: '', title: '', isPublic: true, watermark: undefined }

/** Creates a video from a URL, which the server fetches. */
export default function IngestDialog({ onClose }: { onClose(): void }) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const [form, setForm] = useState(initial)
  const t = messages.videos.ingest
  const create = useMutation({
    mutationFn: () => {
      const source = form.source.trim()
      const title = form.title.trim()
      return importVideo(environment, {
        source,
        public: form.isPublic,
        ...(title && { title }),
        ...(form.watermark && { watermark: watermarkInput(form.watermark) }),
      })
    },
    onSuccess: async () => {
      onClose()
      showToast(t.started)
      await client.invalidateQueries({ queryKey: [environment, 'videos', 'list'] })
    },
  })
  const fields = create.error instanceof ApiProblem ? create.error.fields : {}
  return (
    <FormDialog
      onClose={onClose}
      title={t.title}
      description={t.hint}
      action={t.submit}
      isDisabled={create.isPending}
      error={fields.source || fields.title || fields['watermark[id]'] ? null : create.error}
      onSubmit={() => create.mutate()}
    >
      <TextField
        type="url"
        label={t.url}
        required
        placeholder="https://"
        value={form.source}
        error={fields.source}
        onChange={(event) => setForm({ ...form, source: event.target.value })}
      />
      <TextField
        label={t.name}
        hint={t.nameHint}
        maxLength={1_000}
        value={form.title}
        error={fields.title}
        onChange={(event) => setForm({ ...form, title: event.target.value })}
      />
      <CheckField
        label={t.public}
        checked={form.isPublic}
        onChange={(event) => setForm({ ...form, isPublic: event.target.checked })}
      />
      <WatermarkField
        value={form.watermark}
        error={fields['watermark[id]']}
        onChange={(watermark) => setForm({ ...form, watermark })}
      />
    </FormDialog>
  )
}
