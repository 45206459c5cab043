import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { encodedFraction, failureOf, statusQuery } from '../api/video-status.ts'
import type { Upload } from './types.ts'
import { uploads } from './uploads.ts'

/** Each one costs a request whenever its video changes. The next ones follow when these are done. */
const maxWatched = 8

const watchedStates: Upload['state'][] = ['uploading', 'processing']

/** Notices how far uploaded videos are encoded, and when they become playable. Shows nothing. */
export function ProcessingWatches({ list }: { list: readonly Upload[] }) {
  return list
    .filter(({ state, videoId }) => watchedStates.includes(state) && videoId)
    .slice(0, maxWatched)
    .map((each) => <ProcessingWatch key={each.id} upload={each} />)
}

function ProcessingWatch({ upload: { id, environment, videoId } }: { upload: Upload }) {
  const { data } = useQuery(statusQuery(environment, videoId!))
  useEffect(() => {
    if (!data) return
    const { qualities, playable: isPlayable } = data.encoding
    const message = failureOf(data)
    // The failure may be that of a file that is being replaced.
    const isEncoding = qualities.length > 0 && message === undefined
    uploads.noteEncoding(id, { encoded: isEncoding ? encodedFraction(data) : undefined, isPlayable })
    if (message) uploads.settle(id, { state: 'failed', message })
    else if (isPlayable) uploads.settle(id, { state: 'ready' })
  }, [data, id])
  return null
}
