/** A limit for one measured value, and whether the value meets it. */
export type Goal = { text: string; isMet: boolean }

export type Row = {
  measured: string
  kinora: string
  /** The same measurement of the program that Kinora is compared with. */
  reference?: string
  /** Kinora compared with the reference. */
  ratio?: number
  goal?: Goal
}

export const atLeast = (limit: number, value: number, unit = ''): Goal => ({
  text: `at least ${limit}${unit}`,
  isMet: value >= limit,
})

export const atMost = (limit: number, value: number, unit = ''): Goal => ({
  text: `at most ${limit}${unit}`,
  isMet: value <= limit,
})

export const below = (limit: number, value: number, unit = ''): Goal => ({
  text: `below ${limit}${unit}`,
  isMet: value < limit,
})

export const above = (limit: number, value: number, unit = ''): Goal => ({
  text: `above ${limit}${unit}`,
  isMet: value > limit,
})

const headings = ['measured', 'Kinora', 'reference', 'ratio', 'goal', '']

const cellsOf = ({ measured, kinora, reference = '', ratio, goal }: Row) => [
  measured,
  kinora,
  reference,
  ratio === undefined || Number.isNaN(ratio) ? '' : ratio.toFixed(2),
  goal?.text ?? '',
  goal === undefined ? '' : goal.isMet ? 'met' : 'MISSED',
]

/** Columns without values are left out. */
function formatTable(title: string, rows: Row[]): string {
  const cells = rows.map(cellsOf)
  const columns = headings.keys().filter((column) => cells.some((row) => row[column] !== ''))
  const lines = [headings, ...cells]
  const padded = [...columns].map((column) => {
    const width = Math.max(...lines.map((line) => line[column]!.length))
    return lines.map((line) => line[column]!.padEnd(width))
  })
  const format = (n: number) => `  ${padded.map((column) => column[n]).join('  ')}`.trimEnd()
  return [title, ...lines.keys().map(format)].join('\n')
}

export const printTable = (title: string, rows: Row[]) => console.log(`\n${formatTable(title, rows)}`)
