import { queryOptions } from '@tanstack/react-query'
import { api, type Environment } from './client.ts'
import type { VideoStatus } from './types.ts'
import { pathOf } from './videos.ts'

export const statusQuery = (environment: Environment, videoId: string) =>
  queryOptions({
    queryKey: [environment, 'videos', videoId, 'status'],
    queryFn: ({ signal }) => api<VideoStatus>(environment, 'GET', `${pathOf(videoId)}/status`, { signal }),
  })

/** Whether the file is still on its way to the server. What has arrived may be encoded meanwhile. */
export const isArriving = ({ ingest }: VideoStatus) =>
  ingest?.status === 'uploading' || ingest?.status === 'ingesting'

/** How much of the file has arrived, from 0 to 1. 0 if its size is not known. */
export function receivedFraction({ ingest }: VideoStatus): number {
  const { receivedBytes = [], arrivingBytes, receivedParts } = ingest ?? {}
  const ranges = arrivingBytes ? [...receivedBytes, arrivingBytes] : receivedBytes
  const total = ranges[0]?.total ?? receivedParts?.total
  if (!total) return 0
  const bytes = ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0)
  return Math.min(1, (bytes || (receivedParts?.parts.length ?? 0)) / total)
}

/** How much of all qualities is encoded, from 0 to 1. */
export function encodedFraction({ encoding: { qualities } }: VideoStatus): number {
  if (qualities.length === 0) return 0
  const done = qualities.map(({ status, progress = 0 }) => (status === 'encoded' ? 1 : progress / 100))
  return done.reduce((sum, each) => sum + each, 0) / qualities.length
}

/** Why a video will never play, or undefined. */
export function failureOf({ ingest, encoding }: VideoStatus): string | undefined {
  if (ingest?.failure) return ingest.failure
  const { playable, qualities } = encoding
  const isOver = qualities.length > 0 && qualities.every(({ status }) => status === 'failed')
  return !playable && isOver ? qualities[0]!.failure : undefined
}
