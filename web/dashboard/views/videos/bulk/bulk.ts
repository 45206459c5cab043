import { ApiProblem } from '../../../api/problem.ts'

const atOnce = 4

type Failure = { videoId: string; message: string }
export type BulkResult = { done: string[]; failures: Failure[] }
export type BulkOptions = { signal: AbortSignal; onProgress(finished: number): void }

export type Task = (videoId: string, signal: AbortSignal) => Promise<unknown>

/** Runs a task for each video, a few at once. A failure does not stop the others. */
export async function runBulk(
  ids: string[],
  task: Task,
  { signal, onProgress }: BulkOptions,
): Promise<BulkResult> {
  const result: BulkResult = { done: [], failures: [] }
  const rest = ids.values()
  const work = async () => {
    for (const videoId of rest) {
      if (signal.aborted) return
      try {
        await runWithRetry(() => task(videoId, signal), signal)
        result.done.push(videoId)
      } catch (error) {
        if (signal.aborted) return
        result.failures.push({ videoId, message: (error as Error).message })
      }
      onProgress(result.done.length + result.failures.length)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return result
}

/** Thousands of requests may exceed the rate limit, which says when it ends. */
async function runWithRetry(run: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await run()
      return
    } catch (error) {
      if (!(error instanceof ApiProblem) || error.status !== 429 || signal.aborted) throw error
      await wait((error.retryAfterSeconds ?? 5) * 1_000, signal)
    }
  }
}

const wait = (ms: number, signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
