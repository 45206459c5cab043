import assert from 'node:assert/strict'
import { test } from 'node:test'
import { distance, nextSequence } from './packets.ts'
import { ReceiveBuffer, windowPackets } from './receive-buffer.ts'

const latencyMs = 120
const payload = (text: string) => Buffer.from(text)

function create(first = 100) {
  const received: string[] = []
  const onPacket = (bytes: Buffer) => void received.push(bytes.toString())
  const buffer = new ReceiveBuffer({ first, latencyMs, onPacket })
  return { buffer, received }
}

test('packets are delivered in order, and those in between are reported once they are missing', () => {
  const { buffer, received } = create()
  assert.equal(buffer.receive(100, payload('a'), 0), undefined)
  assert.deepEqual(buffer.receive(103, payload('d'), 0), { first: 101, last: 102 })
  assert.deepEqual(received, ['a'])
  assert.equal(buffer.receive(102, payload('c'), 1), undefined)
  assert.equal(buffer.receive(101, payload('b'), 2), undefined)
  assert.deepEqual(received, ['a', 'b', 'c', 'd'])
  assert.deepEqual([buffer.next, buffer.expected, buffer.late, buffer.lost], [104, 4, 2, 0])
})

test('a packet is given up after the latency, and its late arrival is ignored, as is a second copy', () => {
  const { buffer, received } = create()
  buffer.receive(101, payload('b'), 0)
  buffer.receive(103, payload('d'), 50)
  buffer.expire(119)
  assert.deepEqual(received, [])
  buffer.expire(120)
  assert.deepEqual(received, ['b'])
  buffer.receive(100, payload('a'), 121)
  buffer.receive(101, payload('b'), 121)
  buffer.expire(170)
  assert.deepEqual(received, ['b', 'd'])
  assert.deepEqual([buffer.lost, buffer.heldPackets, buffer.next], [2, 0, 104])
})

test('missing packets are reported again after an interval', () => {
  const { buffer } = create()
  for (const sequence of [102, 104]) buffer.receive(sequence, payload('x'), 0)
  assert.deepEqual(buffer.unreported(10, 20, 10), [])
  const ranges = [
    { first: 100, last: 101 },
    { first: 103, last: 103 },
  ]
  assert.deepEqual(buffer.unreported(20, 20, 1), ranges.slice(0, 1))
  assert.deepEqual(buffer.unreported(20, 20, 10), ranges.slice(1))
  assert.deepEqual(buffer.unreported(40, 20, 10), ranges)
})

test('sequence numbers wrap around', () => {
  const last = 2 ** 31 - 1
  assert.deepEqual([nextSequence(last), nextSequence(0, -1)], [0, last])
  assert.deepEqual([distance(last, 1), distance(1, last)], [2, -2])
  const { buffer, received } = create(last - 1)
  const sequences = [last - 1, 1, last, 0, 2]
  for (const sequence of sequences) buffer.receive(sequence, payload(`${sequence}`), 0)
  assert.deepEqual(received, [last - 1, last, 0, 1, 2].map(String))
})

test('packets that the sender dropped are not waited for', () => {
  const { buffer, received } = create()
  buffer.receive(102, payload('c'), 0)
  buffer.drop({ first: 100, last: 100 })
  assert.deepEqual(received, [])
  buffer.drop({ first: 99, last: 101 })
  assert.deepEqual(received, ['c'])
  // It had not sent these before.
  buffer.drop({ first: 103, last: 110 })
  buffer.receive(111, payload('d'), 0)
  assert.deepEqual([received, buffer.lost], [['c', 'd'], 10])
  // After a packet that is missing, which is older.
  buffer.receive(113, payload('f'), 0)
  buffer.drop({ first: 114, last: 114 })
  buffer.receive(115, payload('h'), 0)
  buffer.receive(112, payload('e'), 0)
  assert.deepEqual([received, buffer.lost], [['c', 'd', 'f', 'h'], 12])
  // Before one that is missing.
  buffer.receive(118, payload('k'), 0)
  buffer.drop({ first: 116, last: 116 })
  buffer.receive(117, payload('j'), 0)
  assert.deepEqual([received.slice(4), buffer.lost], [['j', 'k'], 13])
})

test('packets far ahead are ignored, and held packets are limited', () => {
  const { buffer, received } = create()
  buffer.receive(100 + windowPackets, payload('far'), 0)
  buffer.drop({ first: 100, last: 100 + windowPackets })
  assert.deepEqual([buffer.expected, buffer.next], [0, 100])
  const large = Buffer.alloc(64 * 1024)
  for (let i = 1; i < 400; i++) buffer.receive(100 + i, large, 0)
  assert.ok(received.length > 100 && buffer.heldPackets < 200, `${buffer.heldPackets} held`)
})

test('a sender that leaves out and drops most packets takes little time', () => {
  const { buffer } = create(0)
  for (let i = 0; i < 10_000; i++) {
    buffer.receive(nextSequence(buffer.next, windowPackets - 1), payload('far'), 0)
    buffer.drop({ first: buffer.next, last: nextSequence(buffer.next, windowPackets - 1) })
  }
  assert.ok(buffer.late < 40_000, `${buffer.late}`)
})
