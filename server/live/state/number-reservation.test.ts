import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Context } from '../../context.ts'
import { Bytes } from '../media/bytes.ts'
import { LiveBroadcast } from './live-broadcast.ts'
import { NumberReservation } from './number-reservation.ts'

const quality = 'source'
const claim = { id: 'br1', fence: 2 }
const position = { next: { sequence: 5, epoch: 2 }, endMs: 0, elapsedMs: 0 }
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** A store whose writes wait until the test ends them. */
function open() {
  const writes: { key: string; content: string; done(): void; fail(): void }[] = []
  const put = (key: string, body: Buffer) =>
    new Promise((resolve, reject) =>
      writes.push({
        key,
        content: body.toString(),
        done: () => resolve({}),
        fail: () => reject(new Error()),
      }),
    )
  const live = new LiveBroadcast({ ...claim, liveStreamId: 'li1', windowMs: 60_000 })
  const deps = { files: { put }, log: { warn() {} } } as unknown as Pick<Context, 'files' | 'log'>
  const reservation = new NumberReservation(deps, { claim, position, live })
  const shown: string[] = []
  live.subscribe((event) =>
    shown.push(`${event.kind} ${'sequence' in event ? event.sequence : 'epoch' in event ? event.epoch : ''}`),
  )
  const part = (sequence: number, data = Buffer.from('x')) =>
    reservation.show({
      kind: 'part',
      quality,
      sequence,
      epoch: 2,
      receivedAt: 0,
      durationMs: 500,
      isIndependent: true,
      data: new Bytes([data]),
    })
  const init = (epoch: number) =>
    reservation.show({
      kind: 'init',
      quality,
      epoch,
      data: Buffer.from('x'),
      codecs: '',
      width: null,
      height: null,
    })
  return { reservation, live, shown, writes, part, init }
}

test('a number is shown once it is reserved with the lease, and everything stays in its order', async () => {
  const { reservation, shown, writes, part, init } = open()
  init(2)
  part(5)
  assert.deepEqual(shown, ['init 2', 'part 5'], 'the claim has reserved these')
  assert.deepEqual(reservation.wanted, { sequence: 7, epoch: 3 })
  reservation.confirm(reservation.wanted)
  part(6)
  assert.deepEqual([shown.at(-1), writes.length], ['part 6', 0])
  part(7)
  part(6)
  reservation.show({ kind: 'end' })
  assert.equal(shown.length, 3)
  reservation.confirm({ sequence: 8, epoch: 3 })
  assert.deepEqual(shown.slice(3), ['part 7', 'part 6', 'end '])
})

test('while the database is unavailable, numbers and epochs are reserved in the store', async () => {
  const { reservation, shown, writes, part, init } = open()
  init(2)
  part(5)
  part(6)
  init(3)
  assert.equal(writes[0]?.key, 'live/br1/numbers-2.json')
  assert.equal(writes[0]?.content, '{"sequence":8,"epoch":3}')
  writes[0]?.done()
  await turn()
  assert.deepEqual(shown, ['init 2', 'part 5', 'part 6'])
  assert.equal(writes[1]?.content, '{"sequence":8,"epoch":4}')
  writes[1]?.done()
  await turn()
  assert.deepEqual(shown.slice(3), ['init 3'])
  assert.deepEqual(reservation.next, { sequence: 7, epoch: 4 })
})

test('while the store is unavailable too, viewers see no number that another owner could use', async () => {
  const { reservation, live, shown, writes, part } = open()
  part(5)
  part(6)
  writes[0]?.fail()
  await turn()
  assert.deepEqual(shown, ['part 5'])
  reservation.confirm({ sequence: 7, epoch: 3 })
  assert.deepEqual(shown, ['part 5', 'part 6'])
  part(7)
  live.close()
  reservation.show({ kind: 'end' })
  assert.equal(shown.length, 2, 'another process owns the broadcast')
})

test('nothing more is received while too much waits, until it is shown or the broadcast is lost', async () => {
  const megabyte = Buffer.alloc(1024 * 1024)
  const fill = () => {
    const opened = open()
    for (let i = 0; i < 63; i++) opened.part(6, megabyte)
    assert.equal(opened.reservation.drain(), undefined)
    for (let i = 0; i < 2; i++) opened.part(7, megabyte)
    return { ...opened, drained: opened.reservation.drain() }
  }
  const shown = fill()
  assert.ok(shown.drained)
  shown.reservation.confirm({ sequence: 7, epoch: 3 })
  await shown.drained
  assert.equal(shown.reservation.drain(), undefined)

  const lost = fill()
  assert.ok(lost.drained)
  lost.live.close()
  await lost.drained
  assert.equal(lost.reservation.drain(), undefined)
})
