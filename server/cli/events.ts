import { setTimeout as delay } from 'node:timers/promises'
import { newSecret, signatureHeaders } from '../webhooks/sign.ts'
import { ClientError, call, type Server } from './client.ts'

type Event = { eventId: string; type: string; emittedAt: string; payload: Record<string, unknown> }
type Page = { data: Event[]; pagination: { pagesTotal: number } }

const pollIntervalMs = 1_000
/** An event can be committed a moment after its emittedAt, so each poll also asks for the last seconds again. */
const overlapMs = 10_000

/** Newest first. */
async function* listEvents(server: Server, filters: Record<string, string>): AsyncGenerator<Event> {
  for (let currentPage = 1; ; currentPage++) {
    const query = new URLSearchParams({ ...filters, currentPage: String(currentPage), pageSize: '100' })
    const { data, pagination } = await call<Page>(server, 'GET', `/events?${query}`)
    yield* data
    if (currentPage >= pagination.pagesTotal) return
  }
}

export function formatEvent({ eventId, type, emittedAt, payload }: Event): string {
  const { type: _type, emittedAt: _emittedAt, ...rest } = payload
  const details = Object.entries(rest).map(([name, value]) => `${name}=${value}`)
  return `${emittedAt}  ${eventId}  ${type}  ${details.join(' ')}`
}

/** The newest events that match the filters. */
export async function findEvents(server: Server, filters: Record<string, string>, maxEvents: number) {
  const found: Event[] = []
  for await (const event of listEvents(server, filters)) {
    if (found.push(event) === maxEvents) break
  }
  return found
}

export async function replayEvent(server: Server, eventId: string): Promise<string> {
  const path = `/events/${encodeURIComponent(eventId)}/replay`
  const { count } = await call<{ count: number }>(server, 'POST', path)
  return count === 0
    ? 'No webhook subscribes to this event.'
    : `The event is sent again to ${count} webhook${count === 1 ? '' : 's'}.`
}

/** Prints new events and forwards them to a URL on the developer's machine, until the process is stopped. */
export async function listen(
  server: Server,
  target: string | undefined,
  print: (line: string) => void,
  signal?: AbortSignal,
): Promise<void> {
  const secret = newSecret()
  const start = new Date()
  const seen = new Set(
    (await findRecentEvents(server, new Date(start.getTime() - overlapMs))).map(({ eventId }) => eventId),
  )
  print(target ? `Events are passed on to ${target}, signed with ${secret}` : 'Waiting for events.')
  let from = start
  while (!signal?.aborted) {
    const events = await findRecentEvents(server, new Date(from.getTime() - overlapMs))
    for (const event of events.toReversed()) {
      if (seen.has(event.eventId)) continue
      seen.add(event.eventId)
      const result = target ? await forward(event, target, secret) : ''
      print(`${formatEvent(event)}${result}`)
      if (new Date(event.emittedAt) > from) from = new Date(event.emittedAt)
    }
    await delay(pollIntervalMs, undefined, signal ? { signal } : {}).catch(() => {})
  }
}

const findRecentEvents = (server: Server, from: Date) =>
  findEvents(server, { from: from.toISOString() }, Number.POSITIVE_INFINITY)

/** Sends the same request as the service would. Returns the status or the error as text for the printed line. */
async function forward(event: Event, target: string, secret: string): Promise<string> {
  const body = Buffer.from(JSON.stringify(event.payload))
  const signed = { webhookId: 'webhook_listen', eventId: event.eventId, body, secret, previousSecret: null }
  const headers = { 'content-type': 'application/json', ...signatureHeaders(signed, new Date()) }
  try {
    const options = {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(5_000),
    } as const
    const response = await fetch(target, options)
    await response.body?.cancel()
    return `  -> ${response.status}`
  } catch (error) {
    const { cause, message } = error as Error
    return `  -> ${cause instanceof Error ? cause.message || message : message}`
  }
}

export function checkTarget(text: string | undefined): string | undefined {
  if (text === undefined || /^https?:$/.test(URL.parse(text)?.protocol ?? '')) return text
  throw new ClientError(`"${text}" is not an http or https address.`)
}
