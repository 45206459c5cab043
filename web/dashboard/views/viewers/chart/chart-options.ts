import type uPlot from 'uplot'
import type { LineChartProps } from './chart-types.ts'
import { readColor } from './use-color-scheme.ts'

const height = 240
/** The width of the axis at the left. */
export const axisWidth = 72
/** Pixels between labels of the axis. */
const labelSpace = 90

/** What uPlot draws. Values and labels are read when they are needed, as they change. */
export function chartOptions(
  element: HTMLElement,
  read: () => LineChartProps,
  onCursor: (plot: uPlot) => void,
): uPlot.Options {
  const { series, steps, max, onChoose } = read()
  const colors = { line: readColor(element, '--line'), text: readColor(element, '--text-muted') }
  const font = `12px ${getComputedStyle(element).fontFamily}`
  const axis = {
    stroke: colors.text,
    font,
    ticks: { show: false },
    grid: { stroke: colors.line, width: 1 },
  }
  return {
    width: element.clientWidth || 300,
    height,
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: false, y: false },
      points: { size: 8 },
      ...(onChoose && {
        bind: {
          click: (plot) => () => {
            const { idx } = plot.cursor
            if (typeof idx === 'number') read().onChoose?.(idx)
            return null
          },
        },
      }),
    },
    padding: [8, 28, 0, 0],
    scales: {
      x: { time: false },
      y: { range: (_, __, highest) => [0, max ?? niceMax(highest)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 32,
        space: labelSpace,
        incrs: [1, 2, 3, 5, 6, 7, 10, 12, 14, 20, 25, 30, 50, 60, 90, 100, 180, 365],
        values: (_, splits) => splits.map((split) => read().points[split]?.short ?? ''),
      },
      {
        ...axis,
        size: axisWidth,
        space: 44,
        incrs: steps,
        values: (_, splits) => splits.map((split) => read().format(split)),
      },
    ],
    series: [
      {},
      ...series.map(({ label, color, isDashed }) => ({
        label,
        stroke: readColor(element, color),
        width: 2,
        points: { show: read().points.length < 2 },
        ...(isDashed && { dash: [5, 4] }),
      })),
    ],
    hooks: { setCursor: [onCursor] },
  }
}

/** A little room above the highest value. Without values, the axis still has a length. */
const niceMax = (highest: number | null) => (highest ? highest * 1.08 : 1)
