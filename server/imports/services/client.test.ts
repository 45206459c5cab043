import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GuardedResponse } from '../../lib/fetch/exchange.ts'
import type { GuardedFetch } from '../../lib/fetch/guarded-fetch.ts'
import { ServiceClient } from './client.ts'
import { ServiceBusy, ServiceError } from './errors.ts'

const url = 'https://example.com/list'

/** A client of a service with these responses, and a clock. */
function open(...responses: Partial<GuardedResponse>[]) {
  const clock = { ms: 0 }
  const sent: string[] = []
  const fetch: GuardedFetch = {
    async request(requested) {
      sent.push(requested)
      const empty = (async function* () {})()
      return { status: 200, headers: {}, url: requested, cancel() {}, body: empty, ...responses.shift() }
    },
    close: async () => {},
  }
  return { client: new ServiceClient(fetch, new AbortController().signal, () => clock.ms), clock, sent }
}

test('too many requests without a time are one minute, during which nothing is sent', async () => {
  const { client, clock, sent } = open({ status: 429 }, { status: 429, headers: { 'retry-after': '5' } })
  const isBusy = (waitMs: number) => (error: unknown) =>
    error instanceof ServiceBusy && error.waitMs === waitMs
  await assert.rejects(client.json(url), isBusy(60_000))
  await assert.rejects(client.json(url), isBusy(5_000))
  clock.ms = 1_000
  await assert.rejects(client.file(url, 0, null), isBusy(4_000))
  assert.equal(sent.length, 2)
  clock.ms = 6_000
  assert.equal(await client.json(url), undefined)
})

test('a service that sends byte by byte is left after ten minutes', async () => {
  const { client, clock } = open({ body: drip() })
  async function* drip() {
    for (;;) {
      clock.ms += 1_000
      yield Buffer.from(' ')
    }
  }
  await assert.rejects(
    client.json(url),
    (error) => error instanceof ServiceError && error.isRetryable && /sends too slowly/.test(error.message),
  )
  assert.equal(clock.ms, 601_000)
})
