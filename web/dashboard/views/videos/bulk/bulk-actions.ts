import type { Environment } from '../../../api/client.ts'
import { ApiProblem } from '../../../api/problem.ts'
import { changeTags, deleteVideo, type ListIds, setPublic, type TagChange } from '../../../api/videos.ts'

export type BulkAction =
  | { kind: 'delete' }
  | { kind: 'public'; isPublic: boolean }
  | { kind: 'tags'; change: TagChange }

/** What to do with one video. */
export function taskOf(environment: Environment, action: BulkAction) {
  return async (videoId: string, signal: AbortSignal): Promise<void> => {
    if (action.kind === 'public') await setPublic(environment, videoId, action.isPublic, signal)
    else if (action.kind === 'tags') await changeTags(environment, videoId, action.change, signal)
    else await deleteVideo(environment, videoId, signal).catch(ignoreMissing)
  }
}

/** Somebody else has deleted it. */
export function ignoreMissing(error: unknown): void {
  if (!(error instanceof ApiProblem) || error.status !== 404) throw error
}

/**
 * The ids of what matches, before anything is changed: changes may move videos to other pages. Never more than `max`, the
 * number that was shown, because more may match than were counted.
 */
export async function collectIds(
  list: ListIds,
  max: number,
  signal: AbortSignal,
  onProgress: (found: number) => void,
): Promise<string[]> {
  const all = new Set<string>()
  for (let page = 0; ; page++) {
    const { ids, pagesTotal } = await list(page, signal)
    for (const id of ids) all.add(id)
    onProgress(all.size)
    if (page + 1 >= pagesTotal || all.size >= max) return [...all].slice(0, max)
  }
}
