import { useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import type { ListIds } from '../../../api/videos.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { showError } from '../../../ui/toast-list.ts'
import { type BulkResult, runBulk, type Task } from './bulk.ts'
import { collectIds } from './bulk-actions.ts'

export type BulkRun = {
  label: string
  phase: 'collecting' | 'running' | 'failed'
  finished: number
  total: number
  failures: BulkResult['failures']
  /** Tries the failed ones again. */
  retry?: () => void
}

/** Runs tasks for many videos, with progress, and keeps the failures. */
export function useBulkRun() {
  const environment = useEnvironment()
  const client = useQueryClient()
  const [run, setRun] = useState<BulkRun>()
  const abort = useRef<AbortController>(undefined)

  const begin = (work: () => Promise<unknown>) => {
    abort.current = new AbortController()
    const { signal } = abort.current
    work().catch((error) => {
      setRun(undefined)
      if (!signal.aborted) showError(error)
    })
  }

  const collect = (label: string, list: ListIds, max: number) => {
    const onProgress = (finished: number) =>
      setRun({ label, phase: 'collecting', finished, total: max, failures: [] })
    return collectIds(list, max, abort.current!.signal, onProgress)
  }

  const process = async (label: string, ids: string[], task: Task): Promise<string[]> => {
    const { signal } = abort.current!
    const base = { label, total: ids.length, failures: [] }
    setRun({ ...base, phase: 'running', finished: 0 })
    const { done, failures } = await runBulk(ids, task, {
      signal,
      onProgress: (finished) => setRun({ ...base, phase: 'running', finished }),
    })
    await client.invalidateQueries({ queryKey: [environment, 'videos'] })
    const retry = () =>
      begin(() =>
        process(
          label,
          failures.map(({ videoId }) => videoId),
          task,
        ),
      )
    setRun(
      failures.length > 0 ? { ...base, phase: 'failed', finished: done.length, failures, retry } : undefined,
    )
    return done
  }

  return {
    run,
    begin,
    /** Call both in `begin`. */
    collect,
    process,
    /** Stops after the requests that are on their way, or closes the list of failures. */
    stop: () => {
      abort.current?.abort()
      setRun(undefined)
    },
  }
}
