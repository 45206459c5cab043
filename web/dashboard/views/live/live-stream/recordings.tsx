import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type Broadcast, type LiveStream, retryRecordings } from '../../../api/live-streams.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { Badge } from '../../../ui/badge.tsx'
import { Button } from '../../../ui/button.tsx'
import { ErrorText } from '../../../ui/states.tsx'
import { showToast } from '../../../ui/toast-list.ts'
import styles from './stream-panels.module.css'

/** The videos of a broadcast. Failed ones can be retried. */
export function Recordings({ stream, broadcast }: { stream: LiveStream; broadcast: Broadcast }) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const { liveStreamId } = stream
  const retry = useMutation({
    mutationFn: () => retryRecordings(environment, liveStreamId, broadcast.broadcastId),
    onSuccess: async () => {
      showToast(messages.live.retried)
      await client.invalidateQueries({ queryKey: [environment, 'live-streams', liveStreamId, 'broadcasts'] })
    },
  })
  const { recordings } = broadcast
  if (recordings.length === 0) {
    const isComing = stream.record && broadcast.state !== 'ended'
    return (
      <span className="secondary">
        {isComing ? messages.live.recordingLater : messages.live.recordingNone}
      </span>
    )
  }
  return (
    <div className={styles.stack}>
      {recordings.map(({ state, reason, videoId }, i) => (
        <div key={i}>
          {state === 'recorded' && videoId ? (
            <Link to="/$environment/videos/$videoId" params={{ environment, videoId }}>
              {messages.live.recordingVideo(recordings.length > 1 ? i + 1 : undefined)}
            </Link>
          ) : (
            <Badge variant={state === 'failed' ? 'bad' : 'info'}>
              {state === 'failed' ? messages.live.recordingFailed : messages.live.recordingWaiting}
            </Badge>
          )}
          {reason && <div className="secondary">{reason}</div>}
        </div>
      ))}
      {recordings.some(({ state }) => state === 'failed') && (
        <div>
          <Button icon="reload" disabled={retry.isPending} onClick={() => retry.mutate()}>
            {messages.live.retry}
          </Button>
        </div>
      )}
      {retry.error && <ErrorText error={retry.error} />}
    </div>
  )
}
