import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiProblem } from '../../../api/problem.ts'
import { summaryQuery, writeSummary } from '../../../api/summaries.ts'
import type { Summary, SummaryText } from '../../../api/video-types.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { texts } from '../../../texts/texts.ts'
import { Button } from '../../../ui/button.tsx'
import { TextArea } from '../../../ui/field.tsx'
import { ErrorText } from '../../../ui/states.tsx'
import { showToast } from '../../../ui/toasts.tsx'
import styles from './transcript-tab.module.css'

const words = texts.video.summary
const maxTakeaways = 3

type SummaryFormProps = { videoId: string; summary: Summary & SummaryText }

/** The text of the summary. Only what was changed is sent. */
export function SummaryForm({ videoId, summary }: SummaryFormProps) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const [typed, setTyped] = useState<{ abstract?: string; takeaways?: string }>({})
  const abstract = typed.abstract ?? summary.abstract ?? ''
  const takeaways = typed.takeaways ?? summary.takeaways?.join('\n') ?? ''
  const save = useMutation({
    mutationFn: () => {
      const lines = takeaways
        .split('\n')
        .map((line) => line.trim())
        .filter(Boolean)
      return writeSummary(environment, summary.summaryId, {
        ...(typed.abstract !== undefined && { abstract: abstract.trim() }),
        ...(typed.takeaways !== undefined && { takeaways: lines.slice(0, maxTakeaways) }),
      })
    },
    onSuccess: async () => {
      await client.invalidateQueries(summaryQuery(environment, videoId))
      setTyped({})
      showToast(words.saved)
    },
  })
  const fields = save.error instanceof ApiProblem ? save.error.fields : {}
  return (
    <form
      className={styles.tab}
      onSubmit={(event) => {
        event.preventDefault()
        save.mutate()
      }}
    >
      <TextArea
        label={words.abstract}
        rows={5}
        maxLength={10_000}
        dir="auto"
        value={abstract}
        error={fields.abstract}
        onChange={(event) => setTyped({ ...typed, abstract: event.target.value })}
      />
      <TextArea
        label={words.takeaways}
        hint={words.takeawaysHint}
        rows={3}
        maxLength={3_000}
        dir="auto"
        value={takeaways}
        error={fields.takeaways}
        onChange={(event) => setTyped({ ...typed, takeaways: event.target.value })}
      />
      {save.error && Object.keys(fields).length === 0 && <ErrorText error={save.error} />}
      {(typed.abstract !== undefined || typed.takeaways !== undefined) && (
        <div>
          <Button look="primary" type="submit" disabled={save.isPending}>
            {texts.actions.save}
          </Button>
        </div>
      )}
    </form>
  )
}
