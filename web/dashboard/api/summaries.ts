import { queryOptions } from '@tanstack/react-query'
import { api, type Environment } from './client.ts'
import type { Summary, SummarySource } from './schemas.ts'
import type { Page } from './types.ts'

export type WrittenSummary = Summary & SummarySource

/** The summary of a video with its text. Null if there is none. */
export const summaryQuery = (environment: Environment, videoId: string) =>
  queryOptions({
    queryKey: [environment, 'videos', videoId, 'summary'],
    queryFn: async ({ signal }): Promise<WrittenSummary | null> => {
      const query = { videoId, pageSize: 1 }
      const { data } = await api<Page<Summary>>(environment, 'GET', '/summaries', { query, signal })
      const [summary] = data
      if (!summary) return null
      const text = await api<SummarySource>(environment, 'GET', `/summaries/${summary.summaryId}/source`, {
        signal,
      })
      return { ...summary, ...text }
    },
  })

export const generateSummary = (environment: Environment, videoId: string) =>
  api<Summary>(environment, 'POST', '/summaries', { body: { videoId, origin: 'auto' } })

export const createSummary = (environment: Environment, videoId: string) =>
  api<Summary>(environment, 'POST', '/summaries', { body: { videoId } })

export const writeSummary = (environment: Environment, summaryId: string, body: Partial<SummarySource>) =>
  api<SummarySource>(environment, 'PATCH', `/summaries/${summaryId}/source`, { body })

export const deleteSummary = (environment: Environment, summaryId: string) =>
  api<void>(environment, 'DELETE', `/summaries/${summaryId}`)
