import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useSession } from '../../../../api/session.ts'
import { createSummary, deleteSummary, generateSummary, summaryQuery } from '../../../../api/summaries.ts'
import { useEnvironment } from '../../../../app/environment.ts'
import { messages } from '../../../../messages/messages.ts'
import { Badge } from '../../../../ui/badge.tsx'
import { Button, IconButton } from '../../../../ui/button.tsx'
import { ConfirmDialog } from '../../../../ui/confirm-dialog.tsx'
import { Panel } from '../../../../ui/panel.tsx'
import { ErrorState, ErrorText, Loading } from '../../../../ui/states.tsx'
import { showToast } from '../../../../ui/toast-list.ts'
import { NotConfigured } from './not-configured.tsx'
import { SummaryForm } from './summary-form.tsx'
import styles from './transcript-tab.module.css'

const words = messages.video.summary
const variants = {
  missing: 'plain',
  waiting: 'info',
  completed: 'good',
  failed: 'bad',
  unprocessable: 'warn',
} as const

type SummaryPanelProps = { videoId: string; hasTranscript: boolean }

export function SummaryPanel({ videoId, hasTranscript }: SummaryPanelProps) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const query = summaryQuery(environment, videoId)
  const { data: summary, error, refetch } = useQuery(query)
  const [isDeleting, setDeleting] = useState(false)
  const actions = summary && (
    <>
      <Badge variant={variants[summary.sourceStatus]}>{words[summary.sourceStatus]}</Badge>
      <IconButton icon="trash" label={messages.actions.delete} onClick={() => setDeleting(true)} />
    </>
  )
  return (
    <Panel title={words.title} actions={actions}>
      {summary === undefined ? (
        error ? (
          <ErrorState error={error} onRetry={() => refetch()} />
        ) : (
          <Loading />
        )
      ) : (
        <>
          {summary === null && <p className="muted">{words.none}</p>}
          {summary?.failure && <p className={styles.failure}>{summary.failure}</p>}
          {(summary === null || summary.failure !== undefined) && (
            <NewSummary videoId={videoId} hasTranscript={hasTranscript} canWrite={summary === null} />
          )}
          {summary && summary.sourceStatus !== 'waiting' && (
            <SummaryForm key={summary.summaryId} videoId={videoId} summary={summary} />
          )}
        </>
      )}
      <ConfirmDialog
        isOpen={isDeleting}
        onClose={() => setDeleting(false)}
        title={words.deleteTitle}
        description={words.deleteText}
        action={messages.actions.delete}
        onConfirm={async () => {
          await deleteSummary(environment, summary!.summaryId)
          await client.invalidateQueries(query)
          showToast(words.deleted)
        }}
      />
    </Panel>
  )
}

function NewSummary({ videoId, hasTranscript, canWrite }: SummaryPanelProps & { canWrite: boolean }) {
  const { canTranscribe, canSummarize } = useSession()
  const missing = !canSummarize
    ? words.notConfigured
    : hasTranscript || canTranscribe
      ? undefined
      : messages.video.transcript.notConfigured
  const environment = useEnvironment()
  const client = useQueryClient()
  const create = useMutation({
    mutationFn: (isGenerated: boolean) =>
      (isGenerated ? generateSummary : createSummary)(environment, videoId),
    onSuccess: async (_, isGenerated) => {
      if (isGenerated) showToast(words.requested)
      await client.invalidateQueries(summaryQuery(environment, videoId))
    },
  })
  return (
    <>
      {missing && <NotConfigured>{missing}</NotConfigured>}
      {create.error && <ErrorText error={create.error} />}
      <div className={styles.buttons}>
        <Button disabled={create.isPending || missing !== undefined} onClick={() => create.mutate(true)}>
          {words.generate}
        </Button>
        {canWrite && (
          <Button disabled={create.isPending} onClick={() => create.mutate(false)}>
            {words.write}
          </Button>
        )}
      </div>
    </>
  )
}
