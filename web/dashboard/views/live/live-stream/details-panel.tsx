import { type LiveStream, liveStreamQuery, updateLiveStream } from '../../../api/live-streams.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { SaveBar } from '../../../draft/save-bar.tsx'
import { useDraft } from '../../../draft/use-draft.ts'
import { MetadataEditor, metadataProblem, withoutEmpty } from '../../../fields/metadata-editor.tsx'
import { ThemeField } from '../../../fields/theme-field.tsx'
import { messages } from '../../../messages/messages.ts'
import { CheckField, TextField } from '../../../ui/field.tsx'
import { Form } from '../../../ui/form.tsx'
import { Panel } from '../../../ui/panel.tsx'
import { showToast } from '../../../ui/toast-list.ts'
import { ThumbnailField } from './thumbnail-field.tsx'

const detailsOf = ({ public: isPublic, ...stream }: LiveStream) => ({
  name: stream.name,
  public: isPublic,
  record: stream.record,
  showViewers: stream.showViewers,
  srtPassphrase: stream.srtPassphrase,
  playerId: stream.playerId,
  metadata: stream.metadata,
})
type Details = ReturnType<typeof detailsOf>

const labels: Record<keyof Details, string> = {
  name: messages.live.name,
  public: messages.live.public,
  record: messages.live.record,
  showViewers: messages.live.showViewers,
  srtPassphrase: messages.live.srtPassphrase,
  playerId: messages.themes.one,
  metadata: messages.metadata.title,
}

export function DetailsPanel({ stream }: { stream: LiveStream }) {
  const environment = useEnvironment()
  const { liveStreamId } = stream
  const form = useDraft({
    query: liveStreamQuery(environment, liveStreamId),
    data: stream,
    valuesOf: detailsOf,
    store: (change) => updateLiveStream(environment, liveStreamId, withoutEmpty(change)),
    onSaved: () => showToast(messages.live.saved),
  })
  const { typed, set, errorOf } = form
  return (
    <Panel title={messages.live.details}>
      <Form
        onSubmit={() => {
          if (metadataProblem(typed.metadata) === undefined) form.save()
        }}
      >
        <TextField
          label={messages.live.name}
          required
          maxLength={500}
          dir="auto"
          value={typed.name}
          error={errorOf('name')}
          onChange={(event) => set({ name: event.target.value })}
        />
        <Checks values={typed} onChange={set} />
        <TextField
          label={messages.live.srtPassphrase}
          hint={messages.live.srtPassphraseHint}
          minLength={10}
          maxLength={79}
          autoComplete="off"
          value={typed.srtPassphrase ?? ''}
          error={errorOf('srtPassphrase')}
          onChange={(event) => set({ srtPassphrase: event.target.value || null })}
        />
        <ThemeField
          playerId={typed.playerId}
          error={errorOf('playerId')}
          onChange={(playerId) => set({ playerId })}
        />
        <MetadataEditor
          metadata={typed.metadata}
          error={errorOf('metadata')}
          onChange={(metadata) => set({ metadata })}
        />
        <SaveBar form={form} labels={labels} />
      </Form>
      <ThumbnailField stream={stream} />
    </Panel>
  )
}

function Checks({ values, onChange }: { values: Details; onChange(change: Partial<Details>): void }) {
  return (
    <>
      <CheckField
        label={messages.live.public}
        hint={messages.live.publicHint}
        checked={values.public}
        onChange={(event) => onChange({ public: event.target.checked })}
      />
      <CheckField
        label={messages.live.record}
        hint={messages.live.recordHint}
        checked={values.record}
        onChange={(event) => onChange({ record: event.target.checked })}
      />
      <CheckField
        label={messages.live.showViewers}
        checked={values.showViewers}
        onChange={(event) => onChange({ showViewers: event.target.checked })}
      />
    </>
  )
}
