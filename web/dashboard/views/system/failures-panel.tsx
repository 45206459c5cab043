import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { environments } from '../../api/client.ts'
import { type Failure, systemQuery } from '../../api/system.ts'
import { retryEncoding } from '../../api/video.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { Button } from '../../ui/button.tsx'
import { formatNumber } from '../../ui/format.ts'
import { Panel } from '../../ui/panel.tsx'
import { ErrorText } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { showToast } from '../../ui/toast-list.ts'
import styles from './system-view.module.css'

/** The failures of this environment, and how many the other one has. */
export function FailuresPanel({ failures }: { failures: Failure[] }) {
  const environment = useEnvironment()
  const other = environments.find((each) => each !== environment)!
  const own = failures.filter((each) => each.environment === environment)
  const otherCount = failures.length - own.length
  return (
    <Panel
      title={messages.system.failures}
      actions={
        otherCount > 0 && (
          <Link to="/$environment/system" params={{ environment: other }}>
            {messages.system.otherEnvironment(formatNumber(otherCount), messages.environments[other])}
          </Link>
        )
      }
    >
      {own.length === 0 ? (
        <p className="muted">{messages.system.noFailures}</p>
      ) : (
        <Table
          label={messages.system.failures}
          rows={own}
          keyOf={({ videoId, quality, reason }) => `${videoId} ${quality} ${reason}`}
          columns={[
            { label: messages.system.failureVideo, cell: (failure) => <FailedVideo failure={failure} /> },
            {
              label: messages.system.failureReason,
              cell: ({ reason }) => <span className={styles.reason}>{reason}</span>,
            },
            { label: messages.system.failedAt, cell: ({ failedAt }) => <Time value={failedAt} /> },
            {
              label: <span className="visually-hidden">{messages.system.retry}</span>,
              isNumber: true,
              cell: (failure) => failure.canRetry && <RetryButton failure={failure} />,
            },
          ]}
        />
      )}
    </Panel>
  )
}

function FailedVideo({ failure: { environment, videoId, title, quality } }: { failure: Failure }) {
  return (
    <div className={styles.video}>
      <Link to="/$environment/videos/$videoId" params={{ environment, videoId }}>
        {title || videoId}
      </Link>
      <div className="muted">{quality ?? messages.system.wholeVideo}</div>
    </div>
  )
}

function RetryButton({ failure }: { failure: Failure }) {
  const client = useQueryClient()
  const retry = useMutation({
    mutationFn: () => retryEncoding(failure.environment, failure.videoId),
    onSuccess: () => {
      showToast(messages.system.retried)
      return client.invalidateQueries(systemQuery(failure.environment))
    },
  })
  return (
    <div className={styles.retry}>
      <Button disabled={retry.isPending} onClick={() => retry.mutate()}>
        {messages.system.retry}
        <span className="visually-hidden"> {failure.title}</span>
      </Button>
      {retry.error && <ErrorText error={retry.error} />}
    </div>
  )
}
