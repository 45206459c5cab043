import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PacketQueue } from './packet-queue.ts'

const limits = { reorderMs: 8, retryMs: 30 }

const packetOf = (sequence: number) => ({
  payloadType: 96,
  sequence,
  timestamp: 0,
  ssrc: 1,
  marker: false,
  payload: Buffer.alloc(0),
  transportSequence: undefined,
})

function open() {
  const delivered: string[] = []
  const queue = new PacketQueue({
    waitMs: 100,
    onPacket: ({ sequence }, isAfterGap) => delivered.push(`${isAfterGap ? 'gap ' : ''}${sequence}`),
  })
  return { queue, delivered, add: (sequence: number, at: number) => queue.add(packetOf(sequence), at) }
}

test('packets are delivered in order, across the wrap of their numbers, and once', () => {
  const { delivered, add } = open()
  for (const sequence of [65_534, 0, 65_535, 65_535, 1]) add(sequence, 0)
  assert.deepEqual(delivered, ['65534', '65535', '0', '1'])
})

test('a missing packet is requested again until it arrives or is too late', () => {
  const { queue, delivered, add } = open()
  add(1, 0)
  add(4, 0)
  assert.deepEqual(queue.takeRequests(2, limits), [])
  assert.deepEqual(queue.takeRequests(10, limits), [2, 3])
  assert.deepEqual(queue.takeRequests(20, limits), [])
  add(3, 30)
  assert.equal(queue.roundTripMs, 20)
  assert.deepEqual(queue.takeRequests(45, limits), [2])
  queue.deliver(99)
  assert.deepEqual(delivered, ['1'])
  queue.deliver(100)
  assert.deepEqual(delivered, ['1', 'gap 3', '4'])
  assert.deepEqual([queue.lost, queue.retransmitted], [1, 1])
})

test('a jump is another stream', () => {
  const { queue, delivered, add } = open()
  add(1, 0)
  add(30_000, 0)
  assert.deepEqual(delivered, ['1', 'gap 30000'])
  assert.deepEqual(queue.takeRequests(50, limits), [])
})

test('a sender that leaves out most packets takes neither time nor memory', () => {
  const { queue, delivered, add } = open()
  for (let i = 0; i < 10_000; i++) add((i * 900) & 0xffff, 0)
  assert.ok(queue.takeRequests(50, limits).length <= 1_000)
  assert.ok(delivered.length > 9_000)
})
