import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { Ref } from 'react'
import { uploadWatermark, watermarksQuery } from '../../api/watermarks.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { Icon } from '../../ui/icon.tsx'
import { ErrorText } from '../../ui/states.tsx'
import { showToast } from '../../ui/toast-list.ts'
import { checkImage } from './check-image.ts'
import styles from './upload-area.module.css'

/** Uploads images that are dropped or chosen. The field covers the area, so that the browser handles both. */
export function UploadArea({ input }: { input: Ref<HTMLInputElement> }) {
  const { problems, isUploading, upload } = useUploads()
  return (
    <div className={styles.area}>
      <div className={styles.drop} aria-busy={isUploading}>
        <Icon name="upload" size={24} />
        <div>
          <strong>{isUploading ? messages.watermarks.uploading : messages.watermarks.drop}</strong>
          <div className="secondary">{messages.watermarks.limits}</div>
        </div>
        <input
          ref={input}
          className={styles.input}
          type="file"
          multiple
          accept="image/png,image/jpeg"
          aria-label={messages.watermarks.upload}
          disabled={isUploading}
          onChange={({ target }) => {
            upload([...(target.files ?? [])])
            // The same file can be chosen again.
            target.value = ''
          }}
        />
      </div>
      {problems.map((each) => (
        <ErrorText key={each.message} error={each} />
      ))}
    </div>
  )
}

function useUploads() {
  const environment = useEnvironment()
  const client = useQueryClient()
  const uploading = useMutation({
    mutationFn: async (files: File[]) => {
      const problems: Error[] = []
      for (const file of files) {
        const problem =
          checkImage(file) ??
          (await uploadWatermark(environment, file).then(
            () => undefined,
            (error: Error) => error.message,
          ))
        if (problem) problems.push(new Error(messages.watermarks.problem(file.name, problem)))
      }
      return problems
    },
    onSuccess: (problems, files) => {
      const count = files.length - problems.length
      if (count === 0) return
      showToast(messages.watermarks.uploaded(count))
      return client.invalidateQueries(watermarksQuery(environment))
    },
  })
  return { problems: uploading.data ?? [], isUploading: uploading.isPending, upload: uploading.mutate }
}
