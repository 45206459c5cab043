import { type KeyboardEvent, type MouseEvent, memo } from 'react'
import type { ListedVideo } from '../../../api/videos.ts'
import { classNames } from '../../../ui/class-names.ts'
import type { Layout } from './layout.ts'
import { VideoCard } from './video-card.tsx'
import styles from './video-grid.module.css'
import { VideoRow } from './video-row.tsx'

type VideoCellProps = {
  index: number
  column: number
  /** Undefined while it is being loaded. */
  video: ListedVideo | undefined
  layout: Layout
  isCurrent: boolean
  isSelected: boolean
  onSelect(index: number, videoId: string, isRange: boolean): void
}

/** A place in the grid. It keeps the focus while its video is loaded. */
export const VideoCell = memo(function VideoCell(props: VideoCellProps) {
  const { index, column, video, layout, isCurrent, isSelected, onSelect } = props
  const Content = layout === 'grid' ? VideoCard : VideoRow
  const onKeyDown = (event: KeyboardEvent) => {
    if (!video || event.target !== event.currentTarget) return
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey
    // The key x without shift is a command of the grid.
    const isSelect = isPlain && (event.key === 'X' || event.key === ' ')
    if (event.key === 'Enter') event.currentTarget.querySelector('a')?.click()
    else if (isSelect) onSelect(index, video.videoId, event.shiftKey)
    else return
    event.preventDefault()
  }
  const onClick = (event: MouseEvent) => {
    if (!video || !event.shiftKey) return
    // Otherwise the link opens a window.
    event.preventDefault()
    onSelect(index, video.videoId, true)
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: a table cannot be a grid of cards
    <div
      role="gridcell"
      aria-colindex={column + 1}
      aria-selected={isSelected}
      aria-busy={!video}
      data-index={index}
      tabIndex={isCurrent ? 0 : -1}
      className={classNames(styles.cell, isSelected && styles.selected)}
      onKeyDown={onKeyDown}
      onClick={onClick}
    >
      <Content
        video={video}
        isSelected={isSelected}
        onSelect={(isRange) => video && onSelect(index, video.videoId, isRange)}
      />
    </div>
  )
})
