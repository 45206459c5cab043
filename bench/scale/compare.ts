import { formatMs } from '../reads.ts'
import { median } from '../servers.ts'
import { atMost, type Row } from '../table.ts'
import type { Side } from './side.ts'

export type Operation = {
  measured: string
  /** Runs before `run` and is not measured. */
  prepare?(side: Side, n: number): Promise<unknown>
  /** `n` is different in each round. */
  run(side: Side, n: number): Promise<unknown>
  /** Why it takes longer with more rows. It then has no goal. */
  grows?: string
  /** How much more there is to do in the full database, if that is known. The times are divided by it. */
  per?: { unit: string; count(side: Side): number }
}

const minRounds = 5
const maxRounds = 25
const enoughMs = 6_000
const maxMs = 15_000
const maxRatio = 2

/** Alternates between both databases, so that other load on the machine affects both. */
export async function compare(empty: Side, full: Side, operation: Operation): Promise<Row> {
  const { measured, grows, per } = operation
  const times: Record<'empty' | 'full', number[]> = { empty: [], full: [] }
  const start = performance.now()
  const isEnough = (round: number) => {
    const ms = performance.now() - start
    return round >= maxRounds || (round >= minRounds && ms > enoughMs) || (round >= 2 && ms > maxMs)
  }
  for (let round = 0; !isEnough(round); round++) {
    const [emptyMs, fullMs] = [await time(operation, empty, round), await time(operation, full, round)]
    // The first round is a warm-up.
    if (round === 0) continue
    times.empty.push(emptyMs)
    times.full.push(fullMs)
  }
  const typical = (which: 'empty' | 'full', side: Side) => median(times[which]) / (per?.count(side) ?? 1)
  const [before, after] = [typical('empty', empty), typical('full', full)]
  const row: Row = {
    measured: per ? `${measured}, per ${per.unit}` : measured,
    kinora: formatTime(after),
    reference: formatTime(before),
    ratio: after / before,
  }
  const withReason = grows ? { ...row, measured: `${row.measured} (${grows})` } : row
  return grows ? withReason : { ...row, goal: atMost(maxRatio, after / before) }
}

async function time({ run, prepare }: Operation, side: Side, n: number): Promise<number> {
  await prepare?.(side, n)
  const start = performance.now()
  await run(side, n)
  return performance.now() - start
}

const formatTime = (ms: number) => {
  if (ms >= 10_000) return `${(ms / 1_000).toFixed(0)} s`
  return ms < 0.1 ? `${(ms * 1_000).toFixed(2)} µs` : formatMs(ms)
}
