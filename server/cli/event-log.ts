import { call, type Server } from './client.ts'

export type Event = { eventId: string; type: string; emittedAt: string; payload: Record<string, unknown> }
type Page = { data: Event[]; pagination: { pagesTotal: number } }

export function formatEvent({ eventId, type, emittedAt, payload }: Event): string {
  const { type: _type, emittedAt: _emittedAt, ...rest } = payload
  const details = Object.entries(rest).map(([name, value]) => `${name}=${value}`)
  return `${emittedAt}  ${eventId}  ${type}  ${details.join(' ')}`
}

/** Newest first. */
async function* listEvents(server: Server, filters: Record<string, string>): AsyncGenerator<Event> {
  for (let currentPage = 1; ; currentPage++) {
    const query = new URLSearchParams({ ...filters, currentPage: String(currentPage), pageSize: '100' })
    const { data, pagination } = await call<Page>(server, 'GET', `/events?${query}`)
    yield* data
    if (currentPage >= pagination.pagesTotal) return
  }
}

/** The newest events that match the filters. */
export async function findEvents(server: Server, filters: Record<string, string>, maxEvents: number) {
  const found: Event[] = []
  for await (const event of listEvents(server, filters)) {
    if (found.push(event) === maxEvents) break
  }
  return found
}
