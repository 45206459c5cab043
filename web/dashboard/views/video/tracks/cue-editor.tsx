import { useState } from 'react'
import { LeaveGuard } from '../../../app/leave-guard.tsx'
import { texts } from '../../../texts/texts.ts'
import { Button } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { formatNumber } from '../../../ui/format.ts'
import { ErrorState, ErrorText, Loading } from '../../../ui/states.tsx'
import { languageName } from '../details/languages.ts'
import { usePlayer, usePlayerState } from '../player/use-player.ts'
import { addCue, problemOf, sortCues, warningOf } from './cue-edits.ts'
import { CueList } from './cue-list.tsx'
import styles from './tracks.module.css'
import { type CueForm, type TrackId, useCues } from './use-cues.ts'
import { type Cue, newKey } from './webvtt.ts'

const words = texts.video.cues

type CueEditorProps = {
  id: TrackId
  /** The file is written from the start. */
  isNew: boolean
  durationMs: number
  onSaved(): void
  onClose(): void
}

export function CueEditor({ id, isNew, durationMs, onSaved, onClose }: CueEditorProps) {
  const form = useCues(id, isNew, onSaved)
  const [isLeaving, setLeaving] = useState(false)
  return (
    <div className={styles.tab}>
      <div className={styles.head}>
        <h2>{words.title(languageName(id.language))}</h2>
        <Button
          look="quiet"
          icon="left"
          disabled={form.save.isPending}
          onClick={() => (form.isDirty ? setLeaving(true) : onClose())}
        >
          {words.back}
        </Button>
      </div>
      {form.cues ? (
        <Cues form={form} cues={form.cues} id={id} durationMs={durationMs} />
      ) : form.error ? (
        <ErrorState error={form.error} onRetry={() => form.refetch()} />
      ) : (
        <Loading />
      )}
      <LeaveGuard isDirty={form.isDirty} />
      <ConfirmDialog
        isOpen={isLeaving}
        onClose={() => setLeaving(false)}
        title={texts.leave.title}
        description={texts.leave.text}
        action={texts.leave.action}
        onConfirm={async () => onClose()}
      />
    </div>
  )
}

type CuesProps = { form: CueForm; cues: Cue[]; id: TrackId; durationMs: number }

function Cues({ form, cues, id, durationMs }: CuesProps) {
  const { link } = usePlayer()
  const isConnected = usePlayerState((state) => state.isConnected)
  const [wanted, setWanted] = useState<number>()
  const isUnsorted = cues.some((cue, i) => warningOf(cue, cues[i - 1], 0) === 'unsorted')
  const add = async () => {
    const atMs = await link.position()
    const key = newKey()
    form.edit((now) => addCue(now, atMs, key))
    setWanted(key)
  }
  return (
    <>
      <div className={styles.buttons}>
        <Button icon="plus" onClick={() => void add()}>
          {words.add}
        </Button>
        <Button disabled={!form.canUndo} onClick={form.undo}>
          {words.undo}
        </Button>
        {isUnsorted && (
          <Button icon="sort" onClick={() => form.edit(sortCues)}>
            {words.sort}
          </Button>
        )}
        <span className={styles.muted}>{words.count(cues.length, formatNumber(cues.length))}</span>
      </div>
      {!isConnected && <p className={styles.muted}>{words.noPlayer}</p>}
      {cues.length === 0 ? (
        <p className={styles.muted}>{words.empty}</p>
      ) : (
        <CueList
          form={form}
          cues={cues}
          durationMs={durationMs}
          label={texts.video.tracks[id.kind].cue}
          wanted={wanted}
          onFocused={() => setWanted(undefined)}
        />
      )}
      <SaveCues form={form} cues={cues} onShow={setWanted} />
    </>
  )
}

type SaveCuesProps = { form: CueForm; cues: Cue[]; onShow(key: number): void }

function SaveCues({ form, cues, onShow }: SaveCuesProps) {
  const { save, isDirty, isChangedElsewhere, takeTheirs } = form
  const wrong = cues.filter((cue) => problemOf(cue) !== undefined)
  if (!isDirty && !isChangedElsewhere) return null
  return (
    <div className={styles.bar}>
      {isChangedElsewhere && (
        <div className={styles.conflict} role="alert">
          <strong>{words.changedTitle}</strong>
          <p>{words.changedText}</p>
          <div className={styles.buttons}>
            <Button onClick={takeTheirs}>{words.takeTheirs}</Button>
            <Button onClick={() => save.mutate(true)} disabled={save.isPending || wrong.length > 0}>
              {words.overwrite}
            </Button>
          </div>
        </div>
      )}
      {wrong[0] && (
        <div className={styles.buttons}>
          <span className={styles.problem}>{words.problems(formatNumber(wrong.length))}</span>
          <Button look="quiet" onClick={() => onShow(wrong[0]!.key)}>
            {words.fix}
          </Button>
        </div>
      )}
      {save.error && !isChangedElsewhere && <ErrorText error={save.error} />}
      <div className={styles.saveButtons}>
        <span className={styles.muted} role="status">
          {texts.video.details.unsaved}
        </span>
        <Button
          look="primary"
          disabled={save.isPending || wrong.length > 0 || isChangedElsewhere}
          onClick={() => save.mutate(false)}
        >
          {texts.actions.save}
        </Button>
      </div>
    </div>
  )
}
