import type { Slice } from '../slice.ts'
import { sweepMetrics } from './metrics.ts'
import { runSweep, sweepEveryMs } from './sweep.ts'

export const sweep: Slice = {
  metrics: Object.values(sweepMetrics),
  tasks: [{ name: 'sweep files', everyMs: sweepEveryMs, run: runSweep }],
}
