import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useCallback, useRef } from 'react'
import type { VideoFilters } from '../../../api/videos.ts'
import { useCommand } from '../../../app/commands.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { classNames } from '../../../ui/class-names.ts'
import { ErrorText } from '../../../ui/states.tsx'
import { showError } from '../../../ui/toast-list.ts'
import { type Layout, useGeometry } from './layout.ts'
import { loadRange } from './load-range.ts'
import type { Selection } from './selection.ts'
import { useGridKeys } from './use-grid-keys.ts'
import { scrollToRow, useRows } from './use-rows.ts'
import { useVideoPages } from './use-video-pages.ts'
import { VideoCell } from './video-cell.tsx'
import styles from './video-grid.module.css'

/** Browsers draw no higher elements. */
const maxHeight = 16_000_000

type VideoGridProps = {
  filters: VideoFilters
  total: number
  layout: Layout
  selection: Selection
}

/** All videos that match, however many: only what is visible is loaded and rendered. */
export default function VideoGrid({ filters, total, layout, selection }: VideoGridProps) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const grid = useRef<HTMLDivElement>(null)
  const { columns, rowHeight, top } = useGeometry(grid, layout)
  const rowCount = Math.min(Math.ceil(total / columns), Math.floor(maxHeight / rowHeight))
  const count = Math.min(total, rowCount * columns)
  const anchor = useRef(0)

  const rowOf = (index: number) => Math.floor(index / columns)
  const keys = useGridKeys(grid, { count, columns }, (index) =>
    scrollToRow(top + rowOf(index) * rowHeight, rowHeight),
  )
  const { rows, first, last } = useRows({
    count: rowCount,
    height: rowHeight,
    top,
    current: rowOf(keys.current),
  })
  const range = { first: first * columns, last: Math.min(count, (last + 1) * columns) - 1 }
  const pages = useVideoPages(environment, filters, range)
  const current = pages.at(keys.current)

  const { add, toggle } = selection
  const select = useCallback(
    (index: number, videoId: string, isRange: boolean) => {
      if (!isRange) toggle(videoId)
      else loadRange(client, environment, filters, [anchor.current, index]).then(add, showError)
      anchor.current = index
    },
    [client, environment, filters, add, toggle],
  )
  useSelectCommand(() => {
    const isInGrid = grid.current?.contains(document.activeElement)
    if (current && isInGrid) select(keys.current, current.videoId, false)
  })

  return (
    <>
      {pages.error && (
        <div className={styles.error}>
          <ErrorText error={pages.error} />
          <Button onClick={pages.retry}>{messages.actions.retry}</Button>
        </div>
      )}
      {/* biome-ignore lint/a11y/useSemanticElements: only a few rows of it exist at a time */}
      <div
        ref={grid}
        className={classNames(styles.grid, layout === 'list' && styles.list)}
        style={{ height: rowCount * rowHeight }}
        role="grid"
        aria-label={messages.videos.title}
        aria-rowcount={rowCount}
        aria-colcount={columns}
        aria-multiselectable="true"
        onKeyDown={keys.onKeyDown}
        onFocus={keys.onFocus}
      >
        {rows.map((row) => (
          <GridRow key={row} row={row} columns={columns} height={rowHeight}>
            {Array.from({ length: Math.min(columns, count - row * columns) }, (_, column) => {
              const index = row * columns + column
              const video = pages.at(index)
              return (
                <VideoCell
                  key={index}
                  index={index}
                  column={column}
                  video={video}
                  layout={layout}
                  isCurrent={index === keys.current}
                  isSelected={video !== undefined && selection.has(video.videoId)}
                  onSelect={select}
                />
              )
            })}
          </GridRow>
        ))}
      </div>
      {count < total && <p className={styles.note}>{messages.videos.tooMany(count)}</p>}
    </>
  )
}

/** The key x selects the current video. It is listed with the other keys. */
function useSelectCommand(select: () => void): void {
  const latest = useRef(select)
  latest.current = select
  const run = useCallback(() => latest.current(), [])
  useCommand({ id: 'select', label: messages.videos.selectCurrent, key: 'x', run })
}

type GridRowProps = { row: number; columns: number; height: number; children: ReactNode }

const GridRow = ({ row, columns, height, children }: GridRowProps) => (
  // biome-ignore lint/a11y/useSemanticElements: see the grid
  // biome-ignore lint/a11y/useFocusableInteractive: its cells are
  <div
    role="row"
    aria-rowindex={row + 1}
    className={styles.row}
    style={{
      height,
      gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))`,
      transform: `translateY(${row * height}px)`,
    }}
  >
    {children}
  </div>
)
