import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { Video, VideoStatus } from '../../../api/types.ts'
import { retryEncoding } from '../../../api/video.ts'
import { failureOf, isArriving, statusQuery } from '../../../api/video-status.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { Panel } from '../../../ui/panel.tsx'
import { Progress } from '../../../ui/progress.tsx'
import { ErrorText } from '../../../ui/states.tsx'
import { showToast } from '../../../ui/toast-list.ts'
import { FailedSource } from './failed-source.tsx'
import styles from './progress-panel.module.css'
import { QualityList } from './quality-list.tsx'
import { ReplaceFile, SourcePicker } from './source-picker.tsx'
import { stateOf } from './video-state.ts'

const words = messages.video.state

/** What happens to the content of the video, until it is complete. */
export function ProgressPanel({ video, status }: { video: Video; status: VideoStatus }) {
  const state = stateOf(status)
  const { ingest, encoding } = status
  const { videoId } = video
  const failure = state.name === 'failed' ? failureOf(status) : undefined
  // The content of a video that was imported or copied cannot be replaced.
  const isUploaded = ingest?.status === 'uploaded'
  return (
    <Panel title={words[state.name]}>
      {(state.name === 'uploading' || state.name === 'fetching') && (
        <Progress fraction={state.fraction} label={words[state.name]} />
      )}
      {state.name === 'empty' && <SourcePicker videoId={videoId} />}
      {state.name === 'preparing' && <p className="muted">{words.preparingText}</p>}
      {(isArriving(status) || state.name === 'encoding') && state.isPlayable && (
        <p className="muted">{words.playable}</p>
      )}
      {failure !== undefined ? (
        <>
          <p className={styles.failure}>{ingest?.status ? failure : words.fetchFailed(failure)}</p>
          {isUploaded ? <ReplaceFile videoId={videoId} /> : <FailedSource video={video} />}
          {encoding.qualities.length > 0 && <Retry videoId={videoId} label={messages.actions.retry} />}
        </>
      ) : (
        encoding.qualities.length > 0 && <QualityList qualities={encoding.qualities} />
      )}
      {state.name === 'partial' && <Retry videoId={videoId} label={words.retry} />}
    </Panel>
  )
}

function Retry({ videoId, label }: { videoId: string; label: string }) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const retry = useMutation({
    mutationFn: () => retryEncoding(environment, videoId),
    onSuccess: (status) => {
      client.setQueryData(statusQuery(environment, videoId).queryKey, status)
      showToast(words.retried)
    },
  })
  return (
    <>
      {retry.error && <ErrorText error={retry.error} />}
      <div>
        <Button icon="reload" disabled={retry.isPending} onClick={() => retry.mutate()}>
          {label}
        </Button>
      </div>
    </>
  )
}
