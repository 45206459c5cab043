import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { Video } from '../../../api/types.ts'
import { createLike } from '../../../api/video.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { ErrorText } from '../../../ui/states.tsx'
import { showToast } from '../../../ui/toast-list.ts'
import { uploads } from '../../../upload/uploads.ts'
import styles from './progress-panel.module.css'
import { FileButton } from './source-picker.tsx'

const words = messages.video.state

/** The ways out if the server could not fetch the file. */
export function FailedSource({ video }: { video: Video }) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const navigate = useNavigate()
  const create = useMutation({
    mutationFn: (file: File | undefined) => createLike(environment, video, file === undefined),
    onSuccess: async ({ videoId }, file) => {
      if (file) uploads.addFiles(environment, [{ file }], { target: videoId })
      showToast(file ? words.uploadedInstead : words.importedAgain)
      void client.invalidateQueries({ queryKey: [environment, 'videos', 'list'] })
      await navigate({ to: '/$environment/videos/$videoId', params: { environment, videoId } })
    },
  })
  return (
    <>
      <p className="muted">{words.failedText}</p>
      {create.error && <ErrorText error={create.error} />}
      <div className={styles.buttons}>
        <Button icon="reload" disabled={create.isPending} onClick={() => create.mutate(undefined)}>
          {words.importAgain}
        </Button>
        <FileButton onPick={(file) => create.mutate(file)} />
      </div>
    </>
  )
}
