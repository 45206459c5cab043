import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { Config } from '../../config.ts'
import type { Log } from '../../lib/log.ts'
import { sendFeed } from './feed/routes.ts'
import { LiveBroadcast } from './live-broadcast.ts'
import { Mirrors } from './mirrors.ts'
import type { Broadcast } from './store.ts'

type Owner = { url: string; requests: number; answer(response: ServerResponse): void }

/** An owner that answers as the test says. */
async function startOwner(t: TestContext): Promise<Owner> {
  const owner: Owner = { url: '', requests: 0, answer: (response) => response.writeHead(404).end() }
  const server = createServer((_request, response) => {
    owner.requests++
    owner.answer(response)
  }).listen(0, '127.0.0.1')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  owner.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return owner
}

/** The clock of the mirrors stands still until the test moves it. */
function createMirrors(t: TestContext) {
  const clock = { ms: 1_000_000 }
  const [levels, lost] = [[] as string[], [] as string[]]
  const logAs = (level: string) => () => levels.push(level)
  const deps = {
    config: { liveRewindSeconds: 60 } as Config,
    log: { warn: logAs('warn'), debug: logAs('debug') } as unknown as Log,
    now: () => new Date(clock.ms),
    publicUrl: () => 'http://localhost',
    secret: Buffer.alloc(32),
  }
  const mirrors = new Mirrors(deps, (id) => lost.push(id))
  t.after(() => mirrors.close())
  return { clock, levels, lost, mirrors }
}

const broadcast = (owner_url: string, { id = 'br1', fence = 1, state = 'live' } = {}) =>
  ({ id, live_stream_id: 'li1', fence, owner_url, state }) as Broadcast

function createLive({ id = 'br1', fence = 1 } = {}): LiveBroadcast {
  const live = new LiveBroadcast({ id, liveStreamId: 'li1', fence, windowMs: 60_000 })
  live.apply({ kind: 'visible', targetSeconds: 2, qualities: ['source'] })
  return live
}

/** On a busy machine, a viewer may not wait long enough. */
async function follow(mirrors: Mirrors, row: Broadcast): Promise<LiveBroadcast> {
  for (;;) {
    const live = await mirrors.find(row)
    if (live) return live
    await setImmediate()
  }
}

test('all viewers share one connection to the owner, and see what happens there', async (t) => {
  const owner = await startOwner(t)
  const { mirrors } = createMirrors(t)
  const live = createLive()
  owner.answer = (response) => sendFeed(response, live)
  const found = await Promise.all(Array.from({ length: 10 }, () => follow(mirrors, broadcast(owner.url))))
  assert.equal(new Set(found).size, 1)
  assert.equal(found[0]!.targetSeconds, 2)
  assert.equal(owner.requests, 1)
  const changed = new Promise((done) => found[0]!.subscribe(done))
  live.apply({ kind: 'end' })
  assert.deepEqual(await changed, { kind: 'end' })
})

test('an owner that is out of reach is asked again after a growing pause, however often viewers ask', async (t) => {
  const owner = await startOwner(t)
  const { clock, mirrors } = createMirrors(t)
  const asked: number[] = []
  for (let second = 0; second < 120; second++) {
    const before = owner.requests
    for (let i = 0; i < 5; i++) {
      await mirrors.find(broadcast(owner.url))
      while (mirrors.size > 0) await setImmediate()
    }
    if (owner.requests > before) asked.push(second)
    clock.ms += 1_000
  }
  assert.deepEqual(asked, [0, 1, 2, 4, 8, 16, 31, 46, 61, 76, 91, 106])
  assert.equal(owner.requests, asked.length)
  // It is back.
  owner.answer = (response) => sendFeed(response, createLive())
  clock.ms += 15_000
  await follow(mirrors, broadcast(owner.url))
})

test('an owner that stopped after its encoder had left is not worth a warning', async (t) => {
  const owner = await startOwner(t)
  const { clock, levels, lost, mirrors } = createMirrors(t)
  for (const state of ['live', 'away']) {
    assert.equal(await mirrors.find(broadcast(owner.url, { state })), undefined)
    while (mirrors.size > 0) await setImmediate()
    clock.ms += 15_000
  }
  assert.deepEqual(levels, ['warn', 'debug'])
  // The state of the broadcast is read again.
  assert.deepEqual(lost, ['br1', 'br1'])
})

test('a new owner is asked at once, and viewers that wait for the old one are woken', async (t) => {
  const [first, second] = [await startOwner(t), await startOwner(t)]
  const { mirrors } = createMirrors(t)
  first.answer = (response) => sendFeed(response, createLive())
  second.answer = (response) => sendFeed(response, createLive({ fence: 2 }))
  const old = await follow(mirrors, broadcast(first.url))
  const next = await follow(mirrors, broadcast(second.url, { fence: 2 }))
  assert.equal(next.fence, 2)
  if (!old.closed.aborted) await once(old.closed, 'abort')
  // A process whose row is older does not go back.
  assert.equal(await mirrors.find(broadcast(first.url)), next)
  assert.deepEqual([first.requests, second.requests], [1, 1])
})

test('when the owner ends the connection, the copy is closed and not used any more', async (t) => {
  const owner = await startOwner(t)
  const { mirrors } = createMirrors(t)
  const live = createLive()
  owner.answer = (response) => sendFeed(response, live)
  const found = await follow(mirrors, broadcast(owner.url))
  live.close()
  await once(found.closed, 'abort')
  assert.equal(await mirrors.find(broadcast(owner.url)), undefined)
})

test('a broadcast that nobody asks for is not followed any more', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const owner = await startOwner(t)
  const { clock, mirrors } = createMirrors(t)
  owner.answer = (response) => sendFeed(response, createLive())
  const found = await follow(mirrors, broadcast(owner.url))
  for (let i = 0; i < 4; i++) {
    clock.ms += 10_000
    await mirrors.find(broadcast(owner.url))
    t.mock.timers.tick(10_000)
  }
  assert.ok(!found.closed.aborted)
  const closed = once(found.closed, 'abort')
  clock.ms += 31_000
  t.mock.timers.tick(10_000)
  await closed
})

test('a limited number of broadcasts is followed at the same time', async (t) => {
  const owner = await startOwner(t)
  const { mirrors } = createMirrors(t)
  owner.answer = (response) => sendFeed(response, createLive())
  const rows = Array.from({ length: 100 }, (_, i) => broadcast(owner.url, { id: `br${i}` }))
  await Promise.all(rows.map((row) => follow(mirrors, row)))
  assert.equal(await mirrors.find(broadcast(owner.url, { id: 'br100' })), undefined)
  assert.deepEqual([mirrors.size, owner.requests], [100, 100])
})
