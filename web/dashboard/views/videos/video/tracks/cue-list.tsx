import { useVirtualizer } from '@tanstack/react-virtual'
import { useCallback, useEffect, useRef } from 'react'
import { messages } from '../../../../messages/messages.ts'
import { usePlayerState } from '../player/use-player.ts'
import { cueAt, warningOf } from './cue-edits.ts'
import { CueRow } from './cue-row.tsx'
import styles from './tracks.module.css'
import type { CueForm } from './use-cues.ts'

type CueListProps = {
  form: CueForm
  durationMs: number
  /** What the text of a cue is called. */
  label: string
  /** The cue that is to get the focus. */
  wanted: number | undefined
  onFocused(): void
}

const rowHeight = 96

/** Only the rows in view are in the page, because a film has thousands of cues. */
export function CueList({ form, durationMs, label, wanted, onFocused }: CueListProps) {
  const { cues } = form
  const scroller = useRef<HTMLDivElement>(null)
  const rows = useVirtualizer({
    count: cues.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    // With another function, the places of all rows are computed again.
    getItemKey: useCallback((i: number) => cues[i]!.key, [cues]),
    overscan: 4,
  })
  useEffect(() => {
    const at = cues.findIndex(({ key }) => key === wanted)
    if (at >= 0) rows.scrollToIndex(at, { align: 'auto' })
  }, [wanted, cues, rows])
  const shownKey = usePlayerState(({ timeMs }) => cueAt(cues, timeMs)?.key)
  return (
    <div ref={scroller} className={styles.scroller}>
      <ol
        aria-label={messages.video.cues.list}
        className={styles.rows}
        style={{ height: rows.getTotalSize() }}
      >
        {rows.getVirtualItems().map(({ index, key, start }) => {
          const cue = cues[index]!
          return (
            <li
              key={key}
              ref={rows.measureElement}
              data-index={index}
              aria-setsize={cues.length}
              aria-posinset={index + 1}
              className={styles.item}
              style={{ transform: `translateY(${start}px)` }}
            >
              <CueRow
                form={form}
                cues={cues}
                cue={cue}
                number={index + 1}
                label={label}
                warning={warningOf(cue, cues[index - 1], durationMs)}
                isShown={cue.key === shownKey}
                isWanted={cue.key === wanted}
                onFocused={onFocused}
              />
            </li>
          )
        })}
      </ol>
    </div>
  )
}
