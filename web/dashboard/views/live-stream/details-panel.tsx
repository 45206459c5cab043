import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { LiveStream, LiveStreamInput } from '../../api/live-streams.ts'
import { ApiProblem } from '../../api/problem.ts'
import { texts } from '../../texts/texts.ts'
import { Button } from '../../ui/button.tsx'
import { CheckField, TextField } from '../../ui/field.tsx'
import { Panel } from '../../ui/panel.tsx'
import { ErrorText } from '../../ui/states.tsx'
import { showToast } from '../../ui/toasts.tsx'
import { ThemeSelect } from '../live/theme-select.tsx'
import { MetadataFields } from './metadata-fields.tsx'
import { ChangedElsewhereError, changedFields, useSaveLiveStream } from './save-live-stream.ts'
import styles from './stream-panels.module.css'
import { ThumbnailField } from './thumbnail-field.tsx'

const fields = ['name', 'public', 'record', 'showViewers', 'playerId', 'metadata'] as const
type Draft = Pick<LiveStream, (typeof fields)[number]>

const draftOf = (stream: LiveStream): Draft => ({
  name: stream.name,
  public: stream.public,
  record: stream.record,
  showViewers: stream.showViewers,
  playerId: stream.playerId,
  metadata: stream.metadata,
})

/** The attributes. Only those that were changed are saved. */
export function DetailsPanel({ stream }: { stream: LiveStream }) {
  const [base, setBase] = useState(stream)
  const [draft, setDraft] = useState(() => draftOf(stream))
  const edited = changedFields(base, { ...base, ...draft }, [...fields])
  const isConflict = changedFields(base, stream, edited).length > 0
  const reset = (to: LiveStream) => {
    setBase(to)
    setDraft(draftOf(to))
  }
  // What is not being edited follows the server.
  const unedited = fields.filter((field) => !edited.includes(field))
  const followed = changedFields(base, stream, unedited)
  if (followed.length > 0) {
    const theirs = Object.fromEntries(followed.map((field) => [field, stream[field]]))
    setBase({ ...base, ...theirs })
    setDraft({ ...draft, ...theirs })
  }
  const saveFields = useSaveLiveStream(stream.liveStreamId)
  const save = useMutation({
    mutationFn: () =>
      saveFields(Object.fromEntries(edited.map((field) => [field, draft[field as keyof Draft]])), base),
    onSuccess: (saved) => {
      reset(saved)
      showToast(texts.live.saved)
    },
  })
  const set = (change: Partial<Draft>) => setDraft((current) => ({ ...current, ...change }))
  const problems = save.error instanceof ApiProblem ? save.error.fields : {}
  const isElsewhere = isConflict || save.error instanceof ChangedElsewhereError
  const isShown = Boolean(problems.name || problems.playerId)
  return (
    <Panel title={texts.live.details}>
      <form
        className={styles.form}
        onSubmit={(event: FormEvent) => {
          event.preventDefault()
          save.mutate()
        }}
      >
        <TextField
          label={texts.live.name}
          required
          maxLength={500}
          dir="auto"
          value={draft.name}
          error={problems.name}
          onChange={(event) => set({ name: event.target.value })}
        />
        <Checks draft={draft} onChange={set} />
        <ThemeSelect
          value={draft.playerId}
          error={problems.playerId}
          onChange={(playerId) => set({ playerId })}
        />
        <MetadataFields value={draft.metadata} onChange={(metadata) => set({ metadata })} />
        {isElsewhere ? (
          <div className={styles.notice} role="alert">
            {texts.live.changedElsewhere}
            <div>
              <Button
                onClick={() => {
                  save.reset()
                  reset(stream)
                }}
              >
                {texts.live.useTheirs}
              </Button>
            </div>
          </div>
        ) : (
          save.error && !isShown && <ErrorText error={save.error} />
        )}
        <div className={styles.row}>
          <Button look="primary" type="submit" disabled={save.isPending || edited.length === 0}>
            {texts.actions.save}
          </Button>
          {edited.length > 0 && (
            <Button
              onClick={() => {
                save.reset()
                reset(stream)
              }}
            >
              {texts.actions.cancel}
            </Button>
          )}
        </div>
      </form>
      <ThumbnailField stream={stream} />
    </Panel>
  )
}

function Checks({ draft, onChange }: { draft: Draft; onChange(change: LiveStreamInput): void }) {
  return (
    <>
      <CheckField
        label={texts.live.public}
        hint={texts.live.publicHint}
        checked={draft.public}
        onChange={(event) => onChange({ public: event.target.checked })}
      />
      <CheckField
        label={texts.live.record}
        hint={texts.live.recordHint}
        checked={draft.record}
        onChange={(event) => onChange({ record: event.target.checked })}
      />
      <CheckField
        label={texts.live.showViewers}
        checked={draft.showViewers}
        onChange={(event) => onChange({ showViewers: event.target.checked })}
      />
    </>
  )
}
