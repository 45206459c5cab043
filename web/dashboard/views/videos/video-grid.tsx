import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { defaultRangeExtractor, useWindowVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useCallback, useEffect, useRef } from 'react'
import type { VideoFilters } from '../../api/videos.ts'
import { useEnvironment } from '../../app/environment.ts'
import { texts } from '../../texts/texts.ts'
import { classNames } from '../../ui/class-names.ts'
import { ErrorText } from '../../ui/states.tsx'
import { showError } from '../../ui/toast-list.ts'
import { type Layout, useGeometry } from './layout.ts'
import { loadRange } from './load-range.ts'
import type { Selection } from './selection.ts'
import { useGridKeys } from './use-grid-keys.ts'
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
export function VideoGrid({ filters, total, layout, selection }: VideoGridProps) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const navigate = useNavigate()
  const grid = useRef<HTMLDivElement>(null)
  const { columns, rowHeight, top } = useGeometry(grid, layout)
  const rowCount = Math.min(Math.ceil(total / columns), Math.floor(maxHeight / rowHeight))
  const count = Math.min(total, rowCount * columns)
  const anchor = useRef(0)

  const keys = useGridKeys(grid, { count, columns })
  const currentRow = Math.floor(keys.current / columns)
  const virtualizer = useWindowVirtualizer({
    count: rowCount,
    estimateSize: () => rowHeight,
    scrollMargin: top,
    scrollPaddingStart: 120,
    scrollPaddingEnd: 80,
    overscan: 2,
    // The row with the focus stays, otherwise the keyboard would lose its place.
    rangeExtractor: (range) => [
      ...new Set([...defaultRangeExtractor(range), Math.min(currentRow, rowCount - 1)]),
    ],
  })
  // Another height moves every row.
  useEffect(() => virtualizer.measure(), [virtualizer, rowHeight])
  useEffect(() => {
    if (keys.isMoving()) virtualizer.scrollToIndex(currentRow)
  })

  const { startIndex = 0, endIndex = 0 } = virtualizer.range ?? {}
  const range = { first: startIndex * columns, last: Math.min(count, (endIndex + 1) * columns) - 1 }
  const pages = useVideoPages(environment, filters, range)

  const { add, toggle } = selection
  const select = useCallback(
    (index: number, videoId: string, isRange: boolean) => {
      if (!isRange) toggle(videoId)
      else loadRange(client, environment, filters, [anchor.current, index]).then(add, showError)
      anchor.current = index
    },
    [client, environment, filters, add, toggle],
  )
  const open = useCallback(
    (videoId: string) =>
      void navigate({ to: '/$environment/videos/$videoId', params: { environment, videoId } }),
    [navigate, environment],
  )

  return (
    <>
      {pages.error && <ErrorText error={pages.error} />}
      {/* biome-ignore lint/a11y/useSemanticElements: only a few rows of it exist at a time */}
      <div
        ref={grid}
        className={classNames(styles.grid, layout === 'list' && styles.list)}
        style={{ height: virtualizer.getTotalSize() }}
        role="grid"
        aria-label={texts.videos.title}
        aria-rowcount={rowCount}
        aria-colcount={columns}
        aria-multiselectable="true"
        onKeyDown={keys.onKeyDown}
        onFocus={keys.onFocus}
      >
        {virtualizer.getVirtualItems().map((row) => (
          <GridRow key={row.index} row={row.index} columns={columns} height={rowHeight} y={row.start - top}>
            {Array.from({ length: Math.min(columns, count - row.index * columns) }, (_, column) => {
              const index = row.index * columns + column
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
                  onOpen={open}
                />
              )
            })}
          </GridRow>
        ))}
      </div>
      {count < total && <p className={styles.note}>{texts.videos.tooMany(count)}</p>}
    </>
  )
}

type GridRowProps = { row: number; columns: number; height: number; y: number; children: ReactNode }

const GridRow = ({ row, columns, height, y, children }: GridRowProps) => (
  // biome-ignore lint/a11y/useSemanticElements: see the grid
  // biome-ignore lint/a11y/useFocusableInteractive: its cells are
  <div
    role="row"
    aria-rowindex={row + 1}
    className={styles.row}
    style={{
      height,
      gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))`,
      transform: `translateY(${y}px)`,
    }}
  >
    {children}
  </div>
)
