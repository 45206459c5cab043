import { infiniteQueryOptions } from '@tanstack/react-query'
import { api, apiPath, type Environment } from './client.ts'
import { nextPage } from './paging.ts'
import type { Watermark } from './schemas.ts'
import type { Page } from './types.ts'

export type { Watermark }

export const watermarksQuery = (environment: Environment) =>
  infiniteQueryOptions({
    queryKey: [environment, 'watermarks', 'list'],
    initialPageParam: 1,
    getNextPageParam: nextPage,
    queryFn: ({ pageParam, signal }) =>
      api<Page<Watermark>>(environment, 'GET', '/watermarks', {
        query: { currentPage: pageParam, pageSize: 50 },
        signal,
      }),
  })

const pathOf = (watermarkId: string) => `/watermarks/${encodeURIComponent(watermarkId)}`

/** Where the browser loads the image from, with the cookie of the session. */
export const watermarkImage = (environment: Environment, watermarkId: string) =>
  `/dashboard${apiPath(environment, `${pathOf(watermarkId)}/image`)}`

export function uploadWatermark(environment: Environment, file: File) {
  const body = new FormData()
  body.append('file', file)
  return api<Watermark>(environment, 'POST', '/watermarks', { body })
}

export const deleteWatermark = (environment: Environment, watermarkId: string) =>
  api<void>(environment, 'DELETE', pathOf(watermarkId))

export const corners = ['bottomRight', 'bottomLeft', 'topRight', 'topLeft'] as const
export type Corner = (typeof corners)[number]

/** What a person chooses about the watermark of a video. Width and opacity are percentages. */
export type WatermarkChoice = { id: string; corner: Corner; width: number; opacity: number }

export const initialWatermark: Omit<WatermarkChoice, 'id'> = {
  corner: 'bottomRight',
  width: 15,
  opacity: 100,
}

/** The distances from the edges of the video. */
export const placeOf = (corner: Corner) => ({
  [corner.startsWith('top') ? 'top' : 'bottom']: '2%',
  [corner.endsWith('Left') ? 'left' : 'right']: '2%',
})

/** The attribute `watermark` of a new video. */
export type WatermarkInput = Record<string, string>

export const watermarkInput = ({ id, corner, width, opacity }: WatermarkChoice): WatermarkInput => ({
  id,
  ...placeOf(corner),
  width: `${width}%`,
  opacity: `${opacity}%`,
})
