import 'uplot/dist/uPlot.min.css'
import { useEffect, useRef, useState } from 'react'
import uPlot from 'uplot'
import { messages } from '../../../messages/messages.ts'
import { chartOptions } from './chart-options.ts'
import { ChartTooltip } from './chart-tooltip.tsx'
import type { LineChartProps } from './chart-types.ts'
import styles from './line-chart.module.css'
import { useColorScheme } from './use-color-scheme.ts'

/** Lines over time or position. A slider moves the tooltip by keyboard, and reads out the values. */
export default function LineChart(props: LineChartProps) {
  const { points, series, summary, format, onChoose } = props
  const { host, index, left, moveTo, hideCursor } = useChart(props)
  const shown = index !== undefined && index < points.length ? index : undefined
  const describe = (at: number) =>
    messages.viewers.pointAt(
      points[at]?.long ?? '',
      series.map(({ label, values }) => `${label} ${formatAt(values[at], format)}`).join(', '),
    )
  return (
    <div className={styles.wrap}>
      <Legend series={series} />
      <div className={styles.chart}>
        <div ref={host} role="img" aria-label={summary} className={styles.canvas} />
        {shown !== undefined && (
          <ChartTooltip
            title={points[shown]!.long}
            left={left}
            rows={series.map(({ label, color, values }) => ({
              label,
              color,
              value: formatAt(values[shown], format),
            }))}
          />
        )}
        <input
          type="range"
          className={styles.slider}
          aria-label={messages.viewers.point}
          aria-valuetext={describe(shown ?? points.length - 1)}
          min={0}
          max={Math.max(0, points.length - 1)}
          value={shown ?? points.length - 1}
          onFocus={() => shown === undefined && moveTo(points.length - 1)}
          onBlur={hideCursor}
          onChange={(event) => moveTo(Number(event.target.value))}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && shown !== undefined) onChoose?.(shown)
          }}
        />
      </div>
    </div>
  )
}

const formatAt = (value: number | null | undefined, format: (value: number) => string) =>
  value === null || value === undefined ? '–' : format(value)

/** Draws the chart into the element `host`. `index` and `left` tell where the cursor is. */
function useChart(props: LineChartProps) {
  const { points, series, max } = props
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const [index, setIndex] = useState<number>()
  const [left, setLeft] = useState(0)
  const scheme = useColorScheme()
  // The values change with every report of a viewer. Only another set of lines needs another chart.
  const latest = useRef(props)
  latest.current = props
  const shape = JSON.stringify([scheme, max, series.map(({ label, color }) => [label, color])])
  const data = JSON.stringify([points, series.map(({ values }) => values)])

  useEffect(() => {
    const element = host.current
    if (!element || !shape) return
    const onCursor = ({ cursor }: uPlot) => {
      setIndex(cursor.idx ?? undefined)
      setLeft(cursor.left ?? 0)
    }
    const chart = new uPlot(
      chartOptions(element, () => latest.current, onCursor),
      [[]],
      element,
    )
    plot.current = chart
    const observer = new ResizeObserver(() => {
      if (element.clientWidth > 0) chart.setSize({ width: element.clientWidth, height: chart.height })
    })
    observer.observe(element)
    return () => {
      observer.disconnect()
      chart.destroy()
    }
  }, [shape])

  useEffect(() => {
    if (!shape) return
    const [all, lines] = JSON.parse(data) as [unknown[], (number | null)[][]]
    plot.current?.setData([all.map((_, i) => i), ...lines])
  }, [data, shape])

  const moveTo = (next: number) => {
    const chart = plot.current
    if (!chart) return
    chart.setCursor({ left: chart.valToPos(next, 'x'), top: 0 }, true)
  }
  const hideCursor = () => plot.current?.setCursor({ left: -10, top: -10 }, true)
  return { host, index, left, moveTo, hideCursor }
}

const Legend = ({ series }: Pick<LineChartProps, 'series'>) => (
  <div className={styles.legend} aria-hidden="true">
    {series.map(({ label, color, isDashed }) => (
      <span key={label} className={styles.entry}>
        <span className={isDashed ? styles.dashed : styles.solid} style={{ borderColor: `var(${color})` }} />
        {label}
      </span>
    ))}
  </div>
)
