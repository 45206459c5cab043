import { useLayoutEffect, useRef, useState } from 'react'
import { axisWidth } from './chart-options.ts'
import styles from './line-chart.module.css'

type ChartTooltipProps = {
  title: string
  /** Pixels from the start of the plotting area. */
  left: number
  rows: { label: string; color: string; value: string }[]
}

const gap = 12

export function ChartTooltip({ title, left, rows }: ChartTooltipProps) {
  const box = useRef<HTMLDivElement>(null)
  const [shift, setShift] = useState(0)
  useLayoutEffect(() => {
    const element = box.current
    const room = element?.parentElement?.clientWidth ?? 0
    const width = element?.offsetWidth ?? 0
    const cursor = axisWidth + left
    // Beside the cursor, so that it does not cover the values.
    const isRoomAfter = cursor + gap + width <= room
    setShift(isRoomAfter ? cursor + gap : Math.max(0, cursor - gap - width))
  }, [left])
  return (
    <div
      ref={box}
      className={styles.tooltip}
      style={{ transform: `translateX(${shift}px)` }}
      aria-hidden="true"
    >
      <strong>{title}</strong>
      {rows.map(({ label, color, value }) => (
        <div key={label} className={styles.row}>
          <span className={styles.entry}>
            <span className={styles.solid} style={{ borderColor: `var(${color})` }} />
            {label}
          </span>
          <span>{value}</span>
        </div>
      ))}
    </div>
  )
}
