import { setFlagsFromString } from 'node:v8'

/** V8 may use this many percent more memory than is alive before it looks for garbage. */
const growthPercent = 150

/**
 * V8 counts the frames of a broadcast as part of its heap. By default, it marks the entire heap after every 8 MB of them,
 * which takes longer than everything else that a broadcast needs. The default is restored after the last broadcast.
 */
export function allowHeapGrowth(isAllowed: boolean): void {
  setFlagsFromString(`--heap-growing-percent=${isAllowed ? growthPercent : 0}`)
}
