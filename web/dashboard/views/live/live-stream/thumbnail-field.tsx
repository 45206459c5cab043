import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import {
  deleteLiveThumbnail,
  type LiveStream,
  liveStreamQuery,
  uploadLiveThumbnail,
} from '../../../api/live-streams.ts'
import { ownPath } from '../../../api/own-path.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { ErrorText } from '../../../ui/states.tsx'
import { showToast } from '../../../ui/toast-list.ts'
import { usePulse } from '../../../ui/use-pulse.ts'
import { useStable } from '../../../ui/use-stable.ts'
import { renewMs } from '../live-picture.tsx'
import styles from './thumbnail-field.module.css'

/** The image before the broadcast. It is saved at once. */
export function ThumbnailField({ stream }: { stream: LiveStream }) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const input = useRef<HTMLInputElement>(null)
  const [version, setVersion] = useState(0)
  const { liveStreamId } = stream
  const atMs = usePulse(renewMs, stream.broadcasting)
  const shown = stream.broadcasting ? `${version}-${atMs}` : `${version}`
  const image = useStable(ownPath(stream.assets.thumbnail), `${stream.public} ${shown}`)
  const save = useMutation({
    mutationFn: (file: File | undefined) =>
      file
        ? uploadLiveThumbnail(environment, liveStreamId, file)
        : deleteLiveThumbnail(environment, liveStreamId),
    onSuccess: (saved, file) => {
      client.setQueryData(liveStreamQuery(environment, liveStreamId).queryKey, saved)
      setVersion((current) => current + 1)
      showToast(file ? messages.live.thumbnailSaved : messages.live.thumbnailRemoved)
    },
  })
  return (
    <div className={styles.field}>
      <h3>{messages.live.thumbnail}</h3>
      {/* The address of the image stays the same, and the browser would show the old one. */}
      <img className={styles.image} src={`${image}?version=${shown}`} alt="" />
      <p className="secondary">{messages.live.thumbnailHint}</p>
      <input
        ref={input}
        className="visually-hidden"
        type="file"
        tabIndex={-1}
        aria-hidden="true"
        accept="image/jpeg,image/png,image/webp"
        onChange={(event) => {
          const [file] = event.target.files ?? []
          if (file) save.mutate(file)
          event.target.value = ''
        }}
      />
      {save.error && <ErrorText error={save.error} />}
      <div className={styles.buttons}>
        <Button icon="image" disabled={save.isPending} onClick={() => input.current?.click()}>
          {messages.live.thumbnailChoose}
        </Button>
        <Button disabled={save.isPending} onClick={() => save.mutate(undefined)}>
          {messages.live.thumbnailRemove}
        </Button>
      </div>
    </div>
  )
}
