import { useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { useSession } from '../../../api/session.ts'
import { restoreVideo, type VideoFilters } from '../../../api/videos.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { showError, showToast } from '../../../ui/toast-list.ts'
import type { Selection } from '../list/selection.ts'
import { type BulkResult, runBulk } from './bulk.ts'
import { type BulkAction, collectIds, taskOf } from './bulk-actions.ts'

type Task = (videoId: string, signal: AbortSignal) => Promise<unknown>

export type BulkRun = {
  label: string
  phase: 'collecting' | 'running' | 'failed'
  finished: number
  total: number
  failures: BulkResult['failures']
  /** Tries the failed ones again. */
  retry?: () => void
}

/** Runs an action on the selected videos, with progress, and keeps the failures. */
export function useBulk(filters: VideoFilters, selection: Selection) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const { restoreHours } = useSession()
  const [run, setRun] = useState<BulkRun>()
  const abort = useRef<AbortController>(undefined)

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

  const begin = (work: () => Promise<unknown>) => {
    abort.current = new AbortController()
    const { signal } = abort.current
    work().catch((error) => {
      setRun(undefined)
      if (!signal.aborted) showError(error)
    })
  }

  const undo = (ids: string[]) =>
    begin(async () => {
      const restore: Task = (videoId, signal) => restoreVideo(environment, videoId, signal)
      const restored = await process(messages.videos.bulk.restoring, ids, restore)
      showToast(messages.videos.bulk.restored(restored.length))
    })

  const start = (action: BulkAction) =>
    begin(async () => {
      const { label, result } = textsOf(action)
      const ids = selection.isAll ? await collect(label) : [...selection.ids]
      const done = await process(label, ids, taskOf(environment, action))
      selection.clear()
      if (done.length === 0) return
      const canUndo = action.kind === 'delete' && restoreHours > 0
      const text = result(done.length)
      if (canUndo) showToast(text, { label: messages.actions.undo, run: () => undo(done) })
      else showToast(text)
    })

  const collect = (label: string) => {
    const onProgress = (finished: number) =>
      setRun({ label, phase: 'collecting', finished, total: selection.count, failures: [] })
    return collectIds(environment, filters, selection.count, abort.current!.signal, onProgress)
  }

  return {
    run,
    start,
    /** Stops after the requests that are on their way, or closes the list of failures. */
    stop: () => {
      abort.current?.abort()
      setRun(undefined)
    },
  }
}

function textsOf(action: BulkAction): { label: string; result: (count: number) => string } {
  const { bulk } = messages.videos
  if (action.kind === 'delete') return { label: bulk.deleting, result: bulk.deleted }
  if (action.kind === 'tags') return { label: bulk.tagging, result: bulk.changed }
  return { label: action.isPublic ? bulk.publishing : bulk.hiding, result: bulk.changed }
}
