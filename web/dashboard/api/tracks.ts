import { queryOptions } from '@tanstack/react-query'
import { api, type Environment } from './client.ts'
import { ownPath } from './own-path.ts'
import { ApiProblem, OfflineError } from './problem.ts'
import type { Caption, Chapter } from './schemas.ts'
import type { Page } from './types.ts'
import { pathOf } from './videos.ts'

export type TrackKind = 'captions' | 'chapters'

/** Captions or chapters in one language. */
export type Track = { language: string; src: string; isDefault: boolean }

type StoredTrack = Caption | Chapter

/** The API names the language of captions and of chapters differently. */
const readTrack = (track: StoredTrack): Track =>
  'srclang' in track
    ? { src: track.src, language: track.srclang, isDefault: track.default }
    : { src: track.src, language: track.language, isDefault: false }

/** A video has at most 200 languages. */
const pageSize = 100

export const tracksQuery = (environment: Environment, videoId: string, kind: TrackKind) =>
  queryOptions({
    queryKey: [environment, 'videos', videoId, kind],
    queryFn: async ({ signal }): Promise<Track[]> => {
      const tracks: Track[] = []
      for (let currentPage = 1, pagesTotal = 1; currentPage <= pagesTotal; currentPage++) {
        const query = { currentPage, pageSize }
        const path = `${pathOf(videoId)}/${kind}`
        const page = await api<Page<StoredTrack>>(environment, 'GET', path, { query, signal })
        tracks.push(...page.data.map(readTrack))
        pagesTotal = page.pagination.pagesTotal
      }
      return tracks
    },
  })

type TrackId = { videoId: string; kind: TrackKind; language: string }

const trackPath = ({ videoId, kind, language }: TrackId) =>
  `${pathOf(videoId)}/${kind}/${encodeURIComponent(language)}`

/** The WebVTT file of a track. */
export const trackTextQuery = (environment: Environment, id: TrackId) =>
  queryOptions({
    queryKey: [environment, 'videos', id.videoId, id.kind, id.language, 'text'],
    queryFn: () => fetchTrackText(environment, id),
  })

/** Past all caches: what is edited must be what is stored. */
async function fetchTrackText(environment: Environment, id: TrackId): Promise<string> {
  const { src } = await api<StoredTrack>(environment, 'GET', trackPath(id))
  const response = await fetch(ownPath(src), { cache: 'reload' }).catch((error) => {
    throw new OfflineError(error)
  })
  if (!response.ok) throw new ApiProblem(response.status, {})
  return response.text()
}

export function uploadTrack(environment: Environment, id: TrackId, file: Blob) {
  const body = new FormData()
  body.append('file', file, 'track.vtt')
  return api<StoredTrack>(environment, 'POST', trackPath(id), { body })
}

export const setDefaultCaptions = (environment: Environment, id: TrackId, isDefault: boolean) =>
  api<StoredTrack>(environment, 'PATCH', trackPath(id), { body: { default: isDefault } })

export const deleteTrack = (environment: Environment, id: TrackId) =>
  api<void>(environment, 'DELETE', trackPath(id))
