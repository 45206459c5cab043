import { summaryQuery, type WrittenSummary, writeSummary } from '../../../../api/summaries.ts'
import { useEnvironment } from '../../../../app/environment.ts'
import { SaveBar } from '../../../../draft/save-bar.tsx'
import { useDraft } from '../../../../draft/use-draft.ts'
import { messages } from '../../../../messages/messages.ts'
import { TextArea } from '../../../../ui/field.tsx'
import { Form } from '../../../../ui/form.tsx'
import { showToast } from '../../../../ui/toast-list.ts'

const words = messages.video.summary
const maxTakeaways = 3

type SummaryFormProps = { videoId: string; summary: WrittenSummary }

type Values = { abstract: string; takeaways: string }

const valuesOf = (summary: WrittenSummary | null): Values => ({
  abstract: summary?.abstract ?? '',
  takeaways: summary?.takeaways.join('\n') ?? '',
})

const linesOf = (text: string) => text.split('\n').flatMap((line) => line.trim() || [])

export function SummaryForm({ videoId, summary }: SummaryFormProps) {
  const environment = useEnvironment()
  const form = useDraft({
    query: summaryQuery(environment, videoId),
    data: summary,
    valuesOf,
    store: async ({ abstract, takeaways }) => {
      const text = await writeSummary(environment, summary.summaryId, {
        ...(abstract !== undefined && { abstract: abstract.trim() }),
        ...(takeaways !== undefined && { takeaways: linesOf(takeaways).slice(0, maxTakeaways) }),
      })
      return { ...summary, ...text }
    },
    onSaved: () => showToast(words.saved),
  })
  const { typed, set, errorOf } = form
  return (
    <Form onSubmit={() => form.save()}>
      <TextArea
        label={words.abstract}
        rows={5}
        maxLength={10_000}
        dir="auto"
        value={typed.abstract}
        error={errorOf('abstract')}
        onChange={(event) => set({ abstract: event.target.value })}
      />
      <TextArea
        label={words.takeaways}
        hint={words.takeawaysHint}
        rows={3}
        maxLength={3_000}
        dir="auto"
        value={typed.takeaways}
        error={errorOf('takeaways')}
        onChange={(event) => set({ takeaways: event.target.value })}
      />
      <SaveBar form={form} labels={words} />
    </Form>
  )
}
