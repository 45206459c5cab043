export type ChartSeries = {
  label: string
  /** A custom property of the style sheet, such as `--chart-1`. */
  color: string
  isDashed?: boolean
  values: (number | null)[]
}

export type ChartPoint = {
  /** Below the axis. */
  short: string
  /** In the tooltip and the table. */
  long: string
}

export type LineChartProps = {
  points: ChartPoint[]
  series: ChartSeries[]
  /** A sentence that says what the chart shows. */
  summary: string
  format(value: number): string
  /** Possible distances between the lines of the grid. */
  steps: number[]
  /** The highest value of the axis, if it is known. */
  max?: number
  /** Called when the reader chooses a point. */
  onChoose?(index: number): void
}
