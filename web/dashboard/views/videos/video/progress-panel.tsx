import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { Video, VideoStatus } from '../../../api/types.ts'
import { retryEncoding } from '../../../api/video.ts'
import { statusQuery } from '../../../api/video-status.ts'
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
import { SourcePicker } from './source-picker.tsx'
import { stateOf } from './video-state.ts'

/** What happens to the content of the video, until it is complete. */
export function ProgressPanel({ video, status }: { video: Video; status: VideoStatus }) {
  const state = stateOf(status)
  const { qualities } = status.encoding
  const { failure } = status.ingest ?? {}
  const words = messages.video.state
  return (
    <Panel title={words[state.name]}>
      {(state.name === 'uploading' || state.name === 'fetching') && (
        <Progress fraction={state.fraction} label={words[state.name]} />
      )}
      {state.name === 'empty' && <SourcePicker videoId={video.videoId} />}
      {state.name === 'preparing' && <p className="muted">{words.preparingText}</p>}
      {state.name === 'encoding' && state.isPlayable && <p className="muted">{words.playable}</p>}
      {failure !== undefined && (
        <>
          <p className={styles.failure}>{status.ingest?.status ? failure : words.fetchFailed(failure)}</p>
          <FailedSource video={video} />
        </>
      )}
      {qualities.length > 0 && failure === undefined && <QualityList qualities={qualities} />}
      {qualities.some((each) => each.status === 'failed') && failure === undefined && (
        <Retry videoId={video.videoId} />
      )}
    </Panel>
  )
}

function Retry({ videoId }: { videoId: string }) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const retry = useMutation({
    mutationFn: () => retryEncoding(environment, videoId),
    onSuccess: (status) => {
      client.setQueryData(statusQuery(environment, videoId).queryKey, status)
      showToast(messages.video.state.retried)
    },
  })
  return (
    <>
      {retry.error && <ErrorText error={retry.error} />}
      <div>
        <Button icon="reload" disabled={retry.isPending} onClick={() => retry.mutate()}>
          {messages.video.state.retry}
        </Button>
      </div>
    </>
  )
}
