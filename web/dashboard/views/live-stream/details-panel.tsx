import { useMutation } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import type { LiveStream, LiveStreamInput } from '../../api/live-streams.ts'
import { ApiProblem } from '../../api/problem.ts'
import { LeaveGuard } from '../../app/leave-guard.tsx'
import { texts } from '../../texts/texts.ts'
import { Button } from '../../ui/button.tsx'
import { CheckField, TextField } from '../../ui/field.tsx'
import { Panel } from '../../ui/panel.tsx'
import { ErrorText } from '../../ui/states.tsx'
import { showToast } from '../../ui/toast-list.ts'
import { ThemeSelect } from '../live/theme-select.tsx'
import { type Draft, useDraft } from './draft.ts'
import { MetadataFields } from './metadata-fields.tsx'
import { ChangedElsewhereError, useSaveLiveStream } from './save-live-stream.ts'
import styles from './stream-panels.module.css'
import { ThumbnailField } from './thumbnail-field.tsx'

/** The attributes. Only those that were changed are saved. */
export function DetailsPanel({ stream }: { stream: LiveStream }) {
  const { base, draft, edited, isConflict, set, reset, accept } = useDraft(stream)
  const saveFields = useSaveLiveStream(stream.liveStreamId)
  const save = useMutation({
    mutationFn: (sent: Draft) => {
      const change = Object.fromEntries(edited.map((field) => [field, sent[field as keyof Draft]]))
      // Who was told of the other change may replace it.
      return saveFields(change, isConflict ? stream : base)
    },
    onSuccess: (saved, sent) => {
      accept(saved, sent)
      showToast(texts.live.saved)
    },
  })
  const discard = () => {
    save.reset()
    reset(stream)
  }
  const problems = save.error instanceof ApiProblem ? save.error.fields : {}
  const isElsewhere = isConflict || save.error instanceof ChangedElsewhereError
  const isShown = Boolean(problems.name || problems.playerId)
  return (
    <Panel title={texts.live.details}>
      <form
        className={styles.form}
        onSubmit={(event: FormEvent) => {
          event.preventDefault()
          save.mutate(draft)
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
              <Button onClick={discard}>{texts.live.useTheirs}</Button>
            </div>
          </div>
        ) : (
          save.error && !isShown && <ErrorText error={save.error} />
        )}
        <div className={styles.row}>
          <Button look="primary" type="submit" disabled={save.isPending || edited.length === 0}>
            {texts.actions.save}
          </Button>
          {edited.length > 0 && <Button onClick={discard}>{texts.actions.cancel}</Button>}
        </div>
      </form>
      <ThumbnailField stream={stream} />
      <LeaveGuard isDirty={edited.length > 0} />
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
