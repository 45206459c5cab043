import { useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import {
  type LiveStream,
  type LiveStreamInput,
  liveStreamQuery,
  updateLiveStream,
} from '../../api/live-streams.ts'
import { useEnvironment } from '../../app/environment.ts'
import { texts } from '../../texts/texts.ts'

/** Another window has changed what would be overwritten. */
export class ChangedElsewhereError extends Error {}

const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)

/** Which of these fields have other values now. */
export const changedFields = (before: LiveStream, now: LiveStream, fields: (keyof LiveStreamInput)[]) =>
  fields.filter((field) => !isSame(before[field], now[field]))

/**
 * Saves fields of a live stream. The first attempt fails if another window has changed one of them since `base` was
 * loaded. The next one replaces it.
 */
export function useSaveLiveStream(liveStreamId: string) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const known = useRef<LiveStream>(undefined)
  const query = liveStreamQuery(environment, liveStreamId)
  return async (change: LiveStreamInput, base: LiveStream): Promise<LiveStream> => {
    const now = await client.fetchQuery({ ...query, staleTime: 0 })
    const fields = Object.keys(change) as (keyof LiveStreamInput)[]
    const isKnown = changedFields(known.current ?? base, now, fields).length === 0
    if (!isKnown) {
      known.current = now
      throw new ChangedElsewhereError(texts.live.changedElsewhere)
    }
    const saved = await updateLiveStream(environment, liveStreamId, change)
    known.current = undefined
    // A response that was requested before would bring the old values back.
    await client.cancelQueries({ queryKey: query.queryKey })
    client.setQueryData(query.queryKey, saved)
    return saved
  }
}
