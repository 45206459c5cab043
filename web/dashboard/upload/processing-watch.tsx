import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { failureOf, statusQuery } from '../api/video-status.ts'
import type { Upload } from './types.ts'
import { uploads } from './uploads.ts'

/** Each one costs a request whenever its video changes. The next ones follow when these are done. */
const maxWatched = 8

/** Notices when uploaded videos become playable. Shows nothing. */
export function ProcessingWatches({ list }: { list: readonly Upload[] }) {
  return list
    .filter(({ state, videoId }) => state === 'processing' && videoId)
    .slice(0, maxWatched)
    .map((each) => <ProcessingWatch key={each.id} upload={each} />)
}

function ProcessingWatch({ upload: { id, environment, videoId } }: { upload: Upload }) {
  const { data } = useQuery(statusQuery(environment, videoId!))
  useEffect(() => {
    if (!data) return
    const message = failureOf(data)
    if (message) uploads.settle(id, { state: 'failed', message })
    else if (data.encoding.playable) uploads.settle(id, { state: 'ready' })
  }, [data, id])
  return null
}
