import type { CSSProperties } from 'react'
import type { Tile } from './sprites.ts'
import styles from './thumbnail-tab.module.css'

/** A part of a sheet, at any size. */
export function TileImage({ tile, label }: { tile: Tile; label?: string }) {
  const { x, y, width, height, sheetWidth, sheetHeight } = tile
  const place = (at: number, room: number) => (room > 0 ? `${(100 * at) / room}%` : '0')
  const style: CSSProperties = {
    aspectRatio: `${width} / ${height}`,
    backgroundImage: `url("${tile.sheet}")`,
    backgroundSize: `${(100 * sheetWidth) / width}% ${(100 * sheetHeight) / height}%`,
    backgroundPosition: `${place(x, sheetWidth - width)} ${place(y, sheetHeight - height)}`,
  }
  return (
    <div
      className={styles.tile}
      style={style}
      {...(label ? { role: 'img', 'aria-label': label } : { 'aria-hidden': true })}
    />
  )
}
