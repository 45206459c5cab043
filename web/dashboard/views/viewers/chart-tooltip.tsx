import { useLayoutEffect, useRef, useState } from 'react'
import { axisWidth } from './chart-options.ts'
import styles from './line-chart.module.css'

type ChartTooltipProps = {
  title: string
  /** Pixels from the start of the plotting area. */
  left: number
  rows: { label: string; color: string; value: string }[]
}

export function ChartTooltip({ title, left, rows }: ChartTooltipProps) {
  const box = useRef<HTMLDivElement>(null)
  const [shift, setShift] = useState(0)
  useLayoutEffect(() => {
    const element = box.current
    const room = element?.parentElement?.clientWidth ?? 0
    const width = element?.offsetWidth ?? 0
    const wanted = axisWidth + left - width / 2
    setShift(Math.max(0, Math.min(wanted, room - width)))
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
