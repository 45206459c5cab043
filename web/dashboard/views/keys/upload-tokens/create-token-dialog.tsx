import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiProblem } from '../../../api/problem.ts'
import { createUploadToken, uploadTokensQuery } from '../../../api/upload-tokens.ts'
import { videosQuery } from '../../../api/videos.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { day, PeriodField } from '../../../fields/period-field.tsx'
import { messages } from '../../../messages/messages.ts'
import { SelectField } from '../../../ui/field.tsx'
import { FormDialog } from '../../../ui/form-dialog.tsx'
import { titleOf } from '../../../ui/title-of.ts'
import { TokenDialog } from './token-dialog.tsx'

const initial = { ttl: day, videoId: '' }

/** Creates a token and shows how it is used. */
export function CreateTokenDialog({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const [{ ttl, videoId }, setValues] = useState(initial)
  const create = useMutation({
    mutationFn: () => createUploadToken(environment, { ttl, ...(videoId && { videoId }) }),
    onSuccess: () => client.invalidateQueries(uploadTokensQuery(environment)),
  })
  const close = () => {
    setValues(initial)
    create.reset()
    onClose()
  }
  if (create.data) return isOpen && <TokenDialog token={create.data} onClose={close} isNew />
  const field = create.error instanceof ApiProblem ? create.error.fields.videoId : undefined
  return (
    <FormDialog
      isOpen={isOpen}
      onClose={close}
      title={messages.uploadTokens.create}
      action={messages.actions.create}
      isDisabled={create.isPending}
      error={field ? null : create.error}
      onSubmit={() => create.mutate()}
    >
      <PeriodField
        label={messages.uploadTokens.ttl}
        seconds={ttl}
        onChange={(next) => setValues({ videoId, ttl: next })}
      >
        <option value={0}>{messages.uploadTokens.noLimit}</option>
      </PeriodField>
      <VideoField videoId={videoId} error={field} onChange={(next) => setValues({ ttl, videoId: next })} />
    </FormDialog>
  )
}

type VideoFieldProps = { videoId: string; error: string | undefined; onChange(videoId: string): void }

/** Only videos without a file can be filled. */
function VideoField({ videoId, error, onChange }: VideoFieldProps) {
  const videos = useQuery(videosQuery(useEnvironment(), { status: 'missing' }, 0))
  return (
    <SelectField
      label={messages.uploadTokens.use}
      hint={messages.uploadTokens.useHint}
      error={error ?? videos.error?.message}
      value={videoId}
      onChange={(event) => onChange(event.target.value)}
    >
      <option value="">{messages.uploadTokens.newVideos}</option>
      {videos.data?.data.map((video) => (
        <option key={video.videoId} value={video.videoId}>
          {messages.uploadTokens.only(titleOf(video.title))}
        </option>
      ))}
    </SelectField>
  )
}
