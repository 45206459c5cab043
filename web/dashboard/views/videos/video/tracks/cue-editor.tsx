import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { trackTextQuery } from '../../../../api/tracks.ts'
import { useEnvironment } from '../../../../app/environment.ts'
import { SaveBar } from '../../../../draft/save-bar.tsx'
import { messages } from '../../../../messages/messages.ts'
import { Button } from '../../../../ui/button.tsx'
import { ConfirmDialog } from '../../../../ui/confirm-dialog.tsx'
import { Form } from '../../../../ui/form.tsx'
import { formatNumber } from '../../../../ui/format.ts'
import { ErrorState, Loading } from '../../../../ui/states.tsx'
import { languageName } from '../details/languages.ts'
import { usePlayer, usePlayerState } from '../player/use-player.ts'
import { addCue, problemOf, sortCues, warningOf } from './cue-edits.ts'
import { CueList } from './cue-list.tsx'
import styles from './tracks.module.css'
import { type CueForm, type TrackId, useCues } from './use-cues.ts'
import { newKey } from './webvtt.ts'

const words = messages.video.cues
/** Cues of a conflict. */
const maxShown = 500

type CueEditorProps = {
  id: TrackId
  /** The file is written from the start. */
  isNew: boolean
  durationMs: number
  onSaved(): void
  onClose(): void
}

export function CueEditor({ id, isNew, onClose, ...rest }: CueEditorProps) {
  const query = trackTextQuery(useEnvironment(), id)
  const { data, error, refetch } = useQuery({
    ...query,
    // There is nothing to load, unless somebody else has written it meanwhile.
    enabled: ({ state }) => !isNew || state.data !== undefined,
  })
  const text = isNew ? (data ?? '') : data
  if (text !== undefined) return <LoadedEditor id={id} text={text} onClose={onClose} {...rest} />
  return (
    <div className={styles.tab}>
      <Head id={id} isDisabled={false} onClose={onClose} />
      {error ? <ErrorState error={error} onRetry={() => refetch()} /> : <Loading />}
    </div>
  )
}

type HeadProps = { id: TrackId; isDisabled: boolean; onClose(): void }

const Head = ({ id, isDisabled, onClose }: HeadProps) => (
  <div className={styles.head}>
    <h2>{words.title(languageName(id.language))}</h2>
    <Button variant="quiet" icon="left" disabled={isDisabled} onClick={onClose}>
      {words.back}
    </Button>
  </div>
)

type LoadedEditorProps = Omit<CueEditorProps, 'isNew'> & { text: string }

function LoadedEditor({ id, text, durationMs, onSaved, onClose }: LoadedEditorProps) {
  const form = useCues(id, text, onSaved)
  const [isLeaving, setLeaving] = useState(false)
  const leave = () => (form.isDirty ? setLeaving(true) : onClose())
  return (
    <div className={styles.tab}>
      <Head id={id} isDisabled={form.isSaving} onClose={leave} />
      <Cues form={form} id={id} durationMs={durationMs} />
      <ConfirmDialog
        isOpen={isLeaving}
        onClose={() => setLeaving(false)}
        title={messages.leave.title}
        description={messages.leave.text}
        action={messages.leave.action}
        onConfirm={async () => onClose()}
      />
    </div>
  )
}

type CuesProps = { form: CueForm; id: TrackId; durationMs: number }

function Cues({ form, id, durationMs }: CuesProps) {
  const { cues } = form
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
        <span className="muted">{words.count(cues.length, formatNumber(cues.length))}</span>
      </div>
      {!isConnected && <p className="muted">{words.noPlayer}</p>}
      {cues.length === 0 ? (
        <p className="muted">{words.empty}</p>
      ) : (
        <CueList
          form={form}
          durationMs={durationMs}
          label={messages.video.tracks[id.kind].cue}
          wanted={wanted}
          onFocused={() => setWanted(undefined)}
        />
      )}
      <SaveCues form={form} onShow={setWanted} />
    </>
  )
}

function SaveCues({ form, onShow }: { form: CueForm; onShow(key: number): void }) {
  const wrong = form.cues.filter((cue) => problemOf(cue) !== undefined)
  return (
    <Form className={styles.saveForm} onSubmit={() => form.save()}>
      <SaveBar
        form={form}
        labels={{ content: words.list }}
        show={({ file: { cues } }) =>
          cues
            .slice(0, maxShown)
            .map(({ start, text }) => `${start} ${text}`)
            .join('\n')
        }
        isBlocked={wrong.length > 0}
      >
        {wrong[0] && (
          <div className={styles.buttons}>
            <span className={styles.problem}>{words.problems(formatNumber(wrong.length))}</span>
            <Button variant="quiet" onClick={() => onShow(wrong[0]!.key)}>
              {words.fix}
            </Button>
          </div>
        )}
      </SaveBar>
    </Form>
  )
}
