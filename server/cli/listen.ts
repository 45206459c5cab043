import { setTimeout as delay } from 'node:timers/promises'
import { newSecret, signatureHeaders } from '../webhooks/sign.ts'
import type { Server } from './client.ts'
import type { Output } from './command.ts'
import { type Event, findEvents, formatEvent } from './event-log.ts'

const pollIntervalMs = 1_000
/** An event can be committed a moment after its emittedAt, so each poll also asks for the last seconds again. */
const overlapMs = 10_000
/** A slow transaction or another clock can make it minutes. To look for those takes more, so not every poll does. */
const longOverlapMs = 10 * 60_000
const pollsPerLongOverlap = 10

/** Prints new events and forwards them to a URL on the developer's machine, until the process is stopped. */
export async function listen(server: Server, target: string | undefined, { print }: Output): Promise<never> {
  const secret = newSecret()
  // The newest one says what time it is for the service, whose clock may not be ours.
  const [newest] = await findEvents(server, {}, 1)
  let from = new Date(newest?.emittedAt ?? 0)
  const seen = new Set((await findRecentEvents(server, from, longOverlapMs)).map(({ eventId }) => eventId))
  print(target ? `Events are forwarded to ${target} and signed with ${secret}` : 'Waiting for events.', {
    forwardTo: target ?? null,
    secret: target ? secret : null,
  })
  for (let poll = 1; ; poll++) {
    const isLong = poll % pollsPerLongOverlap === 0
    for (const event of await findRecentEvents(server, from, isLong ? longOverlapMs : overlapMs)) {
      if (seen.has(event.eventId)) continue
      seen.add(event.eventId)
      const result = target ? await forward(event, target, secret) : {}
      const outcome = result.response ?? result.error
      print(`${formatEvent(event)}${outcome ? `  -> ${outcome}` : ''}`, { ...event, ...result })
      if (new Date(event.emittedAt) > from) from = new Date(event.emittedAt)
    }
    await delay(pollIntervalMs)
  }
}

/** Oldest first. */
async function findRecentEvents(server: Server, from: Date, overlapMs: number): Promise<Event[]> {
  const since = new Date(from.getTime() - overlapMs).toISOString()
  return (await findEvents(server, { from: since }, Number.POSITIVE_INFINITY)).toReversed()
}

/** Sends the same request as the service would. */
async function forward(
  event: Event,
  target: string,
  secret: string,
): Promise<{ response?: number; error?: string }> {
  const body = Buffer.from(JSON.stringify(event.payload))
  const signed = { webhookId: 'webhook_listen', eventId: event.eventId, body, secret, previousSecret: null }
  const headers = { 'content-type': 'application/json', ...signatureHeaders(signed, new Date()) }
  try {
    const signal = AbortSignal.timeout(5_000)
    const response = await fetch(target, { method: 'POST', headers, body, redirect: 'manual', signal })
    await response.body?.cancel()
    return { response: response.status }
  } catch (error) {
    const { cause, message } = error as Error
    return { error: cause instanceof Error ? cause.message || message : message }
  }
}
