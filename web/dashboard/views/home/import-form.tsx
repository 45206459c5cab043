import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { importByUrl } from '../../api/home.ts'
import { ApiProblem } from '../../api/problem.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { Button } from '../../ui/button.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { ErrorText } from '../../ui/states.tsx'

/** Fetches a video from a URL. */
export function ImportForm({ onImport }: { onImport(videoId: string): void }) {
  const environment = useEnvironment()
  const [url, setUrl] = useState('')
  const importing = useMutation({
    mutationFn: () => importByUrl(environment, url.trim()),
    onSuccess: ({ videoId }) => {
      setUrl('')
      onImport(videoId)
    },
  })
  const field = importing.error instanceof ApiProblem ? importing.error.fields.source : undefined
  return (
    <>
      <Form isInline onSubmit={() => !importing.isPending && importing.mutate()}>
        <TextField
          type="url"
          label={messages.home.url}
          placeholder="https://example.com/video.mp4"
          required
          value={url}
          error={field}
          onChange={(event) => setUrl(event.target.value)}
        />
        {/* Disabled buttons lose the focus. */}
        <Button type="submit" icon="download" aria-disabled={importing.isPending}>
          {messages.home.fetch}
        </Button>
      </Form>
      {importing.error && !field && <ErrorText error={importing.error} />}
    </>
  )
}
