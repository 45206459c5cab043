import { useEffect, useRef } from 'react'
import { messages } from '../../../../messages/messages.ts'
import { IconButton } from '../../../../ui/button.tsx'
import { classNames } from '../../../../ui/class-names.ts'
import { Menu, MenuItem } from '../../../../ui/menu.tsx'
import { usePlayer, usePlayerState } from '../player/use-player.ts'
import { type CueWarning, changeCue, mergeCue, problemOf, removeCue, splitCue } from './cue-edits.ts'
import styles from './tracks.module.css'
import type { CueForm } from './use-cues.ts'
import { type Cue, formatTime, parseTime } from './webvtt.ts'

const words = messages.video.cues

type CueRowProps = {
  form: CueForm
  cues: Cue[]
  cue: Cue
  number: number
  label: string
  warning: CueWarning | undefined
  /** Whether the player shows it at the moment. */
  isShown: boolean
  /** Whether it is to get the focus. */
  isWanted: boolean
  onFocused(): void
}

export function CueRow(props: CueRowProps) {
  const { form, cues, cue, number, label, warning, isShown, isWanted, onFocused } = props
  const { link } = usePlayer()
  const text = useRef<HTMLTextAreaElement>(null)
  useEffect(() => {
    if (!isWanted) return
    text.current?.focus()
    onFocused()
  }, [isWanted, onFocused])
  const problem = problemOf(cue)
  const isLast = cues.at(-1) === cue
  const change = (next: Partial<Cue>) => form.type((now) => changeCue(now, cue.key, next))
  const split = async () => {
    const atMs = await link.position()
    const caret = text.current?.selectionStart ?? 0
    form.edit((now) => splitCue(now, cue.key, atMs, caret))
  }
  return (
    <div className={classNames(styles.cue, isShown && styles.shown)}>
      <TimeInput cue={cue} name="start" number={number} isWrong={problem === 'start'} onChange={change} />
      <TimeInput
        cue={cue}
        name="end"
        number={number}
        isWrong={problem === 'end' || problem === 'order'}
        onChange={change}
      />
      <textarea
        ref={text}
        className={classNames(styles.input, styles.text)}
        aria-label={`${words.cue(number)}: ${label}`}
        aria-invalid={problem === 'text' || problem === 'arrow' || undefined}
        dir="auto"
        rows={2}
        value={cue.text}
        onChange={(event) => change({ text: event.target.value })}
      />
      <div className={styles.cueActions}>
        <IconButton
          icon="play"
          label={words.play(number)}
          onClick={() => {
            link.seek(parseTime(cue.start) ?? 0)
            link.play()
          }}
        />
        <Menu trigger={<IconButton icon="more" label={words.more(number)} />}>
          <MenuItem onSelect={() => void split()}>{words.split}</MenuItem>
          <MenuItem disabled={isLast} onSelect={() => form.edit((now) => mergeCue(now, cue.key))}>
            {words.merge}
          </MenuItem>
          <MenuItem icon="trash" isDangerous onSelect={() => form.edit((now) => removeCue(now, cue.key))}>
            {words.remove}
          </MenuItem>
        </Menu>
      </div>
      {problem ? (
        <div className={styles.problem}>{words.problem[problem]}</div>
      ) : (
        warning && <div className={styles.warning}>{words.warning[warning]}</div>
      )}
    </div>
  )
}

type TimeInputProps = {
  cue: Cue
  name: 'start' | 'end'
  number: number
  isWrong: boolean
  onChange(change: Partial<Cue>): void
}

function TimeInput({ cue, name, number, isWrong, onChange }: TimeInputProps) {
  const { link } = usePlayer()
  const isConnected = usePlayerState((state) => state.isConnected)
  const set = (value: string) => onChange({ [name]: value })
  return (
    <div className={classNames(styles.timeField, styles[name])}>
      <input
        className={classNames(styles.input, styles.time)}
        aria-label={name === 'start' ? words.startOf(number) : words.endOf(number)}
        aria-invalid={isWrong || undefined}
        inputMode="decimal"
        value={cue[name]}
        onChange={(event) => set(event.target.value)}
        onBlur={(event) => {
          const ms = parseTime(event.target.value)
          if (ms !== undefined && formatTime(ms) !== event.target.value) set(formatTime(ms))
        }}
      />
      <IconButton
        icon="clock"
        label={name === 'start' ? words.startFromPlayer(number) : words.endFromPlayer(number)}
        disabled={!isConnected}
        onClick={() => void link.position().then((ms) => set(formatTime(ms)))}
      />
    </div>
  )
}
