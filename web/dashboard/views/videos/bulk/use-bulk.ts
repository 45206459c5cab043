import { useSession } from '../../../api/session.ts'
import { listIds, restoreVideo, type VideoFilters } from '../../../api/videos.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { showToast } from '../../../ui/toast-list.ts'
import type { Selection } from '../list/selection.ts'
import type { Task } from './bulk.ts'
import { type BulkAction, taskOf } from './bulk-actions.ts'
import { useBulkRun } from './use-bulk-run.ts'

/** Runs an action on the selected videos. */
export function useBulk(filters: VideoFilters, selection: Selection) {
  const environment = useEnvironment()
  const { restoreHours } = useSession()
  const { run, begin, collect, process, stop } = useBulkRun()

  const undo = (ids: string[]) =>
    begin(async () => {
      const restore: Task = (videoId, signal) => restoreVideo(environment, videoId, signal)
      const restored = await process(messages.videos.bulk.restoring, ids, restore)
      showToast(messages.videos.bulk.restored(restored.length))
    })

  const start = (action: BulkAction) =>
    begin(async () => {
      const { label, result } = textsOf(action)
      const list = listIds(environment, '/videos', filters)
      const ids = selection.isAll ? await collect(label, list, selection.count) : [...selection.ids]
      const done = await process(label, ids, taskOf(environment, action))
      selection.clear()
      if (done.length === 0) return
      const canUndo = action.kind === 'delete' && restoreHours > 0
      const text = result(done.length)
      if (canUndo) showToast(text, { label: messages.actions.undo, run: () => undo(done) })
      else showToast(text)
    })

  return { run, start, stop }
}

function textsOf(action: BulkAction): { label: string; result: (count: number) => string } {
  const { bulk } = messages.videos
  if (action.kind === 'delete') return { label: bulk.deleting, result: bulk.deleted }
  if (action.kind === 'tags') return { label: bulk.tagging, result: bulk.changed }
  return { label: action.isPublic ? bulk.publishing : bulk.hiding, result: bulk.changed }
}
