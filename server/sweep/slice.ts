import type { Slice } from '../slice.ts'
import { runSweep, sweepEveryMs } from './sweep.ts'

export const sweep: Slice = {
  tasks: [{ name: 'sweep files', everyMs: sweepEveryMs, run: runSweep }],
}
