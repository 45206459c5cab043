import { useEffect, useState } from 'react'
import { ownPath } from '../../../api/own-path.ts'
import type { Preview } from '../../../api/videos.ts'
import { classNames } from '../../../ui/class-names.ts'
import styles from '../thumbnail.module.css'

const frames = 12
const frameMs = 500

/** Frames from the entire video, one after the other. */
export function Storyboard({ preview }: { preview: Preview }) {
  const [frame, setFrame] = useState(0)
  useEffect(() => {
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) return
    const timer = setInterval(() => setFrame((old) => old + 1), frameMs)
    return () => clearInterval(timer)
  }, [])
  const tile = pickTile(preview, frame)
  return (
    <div
      className={classNames(styles.storyboard, preview.width / preview.height < 16 / 9 && styles.narrow)}
      data-tile={tile.index}
      style={{
        aspectRatio: `${preview.width} / ${preview.height}`,
        backgroundImage: `url("${ownPath(tile.sheet)}")`,
        backgroundSize: tile.size,
        backgroundPosition: tile.position,
      }}
    />
  )
}

/** Where the nth frame is on its sheet. Sheets are scaled so that a tile fills the frame. */
function pickTile({ tiles, columns, rows, sheets }: Preview, frame: number) {
  const shown = Math.min(frames, tiles)
  const index = Math.floor(((frame % shown) * tiles) / shown)
  const perSheet = columns * rows
  const place = index % perSheet
  const [x, y] = [place % columns, Math.floor(place / columns)]
  // Percentages of a background's position refer to what remains beside the image.
  const percent = (at: number, count: number) => (count > 1 ? (100 * at) / (count - 1) : 0)
  return {
    index,
    sheet: sheets[Math.floor(index / perSheet)] ?? '',
    size: `${columns * 100}% ${rows * 100}%`,
    position: `${percent(x, columns)}% ${percent(y, rows)}%`,
  }
}
