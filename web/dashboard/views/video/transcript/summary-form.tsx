import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiProblem } from '../../../api/problem.ts'
import { summaryQuery, writeSummary } from '../../../api/summaries.ts'
import type { Summary, SummaryText } from '../../../api/video-types.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { LeaveGuard } from '../../../app/leave-guard.tsx'
import { texts } from '../../../texts/texts.ts'
import { Button } from '../../../ui/button.tsx'
import { TextArea } from '../../../ui/field.tsx'
import { ErrorText } from '../../../ui/states.tsx'
import { showToast } from '../../../ui/toast-list.ts'
import styles from './transcript-tab.module.css'

const words = texts.video.summary
const maxTakeaways = 3

type SummaryFormProps = { videoId: string; summary: Summary & SummaryText }

type Texts = { abstract: string; takeaways: string }

const textsOf = ({ abstract = '', takeaways = [] }: SummaryText): Texts => ({
  abstract,
  takeaways: takeaways.join('\n'),
})

/** The text of the summary. Only what was typed is sent, and not over what somebody else has written meanwhile. */
export function SummaryForm({ videoId, summary }: SummaryFormProps) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const query = summaryQuery(environment, videoId)
  const stored = textsOf(summary)
  const [typed, setTyped] = useState<Partial<Texts>>({})
  /** What was stored when the typing began. */
  const [base, setBase] = useState(stored)
  const { abstract, takeaways } = { ...stored, ...typed }
  const isTyped = Object.keys(typed).length > 0
  const type = (change: Partial<Texts>) => {
    if (!isTyped) setBase(stored)
    setTyped({ ...typed, ...change })
  }
  const save = useMutation({
    mutationFn: async () => {
      const latest = textsOf((await client.fetchQuery({ ...query, staleTime: 0 })) ?? {})
      const names = Object.keys(typed) as (keyof Texts)[]
      const changed = names.find((name) => latest[name] !== base[name])
      setBase(latest)
      if (changed) throw new Error(words.changed(latest[changed]))
      const lines = takeaways.split('\n').map((line) => line.trim())
      return writeSummary(environment, summary.summaryId, {
        ...(typed.abstract !== undefined && { abstract: abstract.trim() }),
        ...(typed.takeaways !== undefined && { takeaways: lines.filter(Boolean).slice(0, maxTakeaways) }),
      })
    },
    onSuccess: async () => {
      await client.invalidateQueries(query)
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
        onChange={(event) => type({ abstract: event.target.value })}
      />
      <TextArea
        label={words.takeaways}
        hint={words.takeawaysHint}
        rows={3}
        maxLength={3_000}
        dir="auto"
        value={takeaways}
        error={fields.takeaways}
        onChange={(event) => type({ takeaways: event.target.value })}
      />
      {save.error && Object.keys(fields).length === 0 && <ErrorText error={save.error} />}
      {isTyped && (
        <div>
          <Button look="primary" type="submit" disabled={save.isPending}>
            {texts.actions.save}
          </Button>
        </div>
      )}
      <LeaveGuard isDirty={isTyped} />
    </form>
  )
}
