import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { importByUrl } from '../../api/home.ts'
import { ApiProblem } from '../../api/problem.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { Button } from '../../ui/button.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Icon } from '../../ui/icon.tsx'
import { ErrorText } from '../../ui/states.tsx'
import { pickFiles } from '../../upload/picked-files.ts'
import { uploads } from '../../upload/uploads.ts'
import styles from './add-video.module.css'

type AddVideoProps = { hasVideo: boolean; onFetch(videoId: string): void }

/** Files can be dropped anywhere on the page. */
export function AddVideo({ hasVideo, onFetch }: AddVideoProps) {
  const environment = useEnvironment()
  const choose = async () => {
    const files = await pickFiles()
    if (files.length > 0) uploads.addFiles(environment, files)
  }
  return (
    <div className={styles.add}>
      <div className={styles.drop}>
        {!hasVideo && <Icon name="upload" size={24} />}
        <span>{messages.home.drop}</span>
        <Button variant={hasVideo ? 'plain' : 'primary'} onClick={choose}>
          {messages.home.choose}
        </Button>
      </div>
      <FetchForm onFetch={onFetch} />
    </div>
  )
}

function FetchForm({ onFetch }: { onFetch(videoId: string): void }) {
  const environment = useEnvironment()
  const [url, setUrl] = useState('')
  const fetching = useMutation({
    mutationFn: () => importByUrl(environment, url.trim()),
    onSuccess: ({ videoId }) => {
      setUrl('')
      onFetch(videoId)
    },
  })
  const field = fetching.error instanceof ApiProblem ? fetching.error.fields.source : undefined
  return (
    <>
      <Form isInline onSubmit={() => fetching.mutate()}>
        <TextField
          type="url"
          label={messages.home.url}
          placeholder="https://example.com/video.mp4"
          required
          value={url}
          error={field}
          onChange={(event) => setUrl(event.target.value)}
        />
        <Button type="submit" icon="download" disabled={fetching.isPending}>
          {messages.home.fetch}
        </Button>
      </Form>
      {fetching.error && !field && <ErrorText error={fetching.error} />}
    </>
  )
}
