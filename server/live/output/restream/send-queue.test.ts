import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { SourceMessage } from './message.ts'
import { queueLimits, SendQueue } from './send-queue.ts'

const message = (atMs: number, role: SourceMessage['role'], length = 10): SourceMessage => ({
  kind: 'video',
  atMs,
  role,
  payload: Buffer.alloc(length),
})
const headersAt = (atMs: number) => [message(atMs, 'header')]

function drain(queue: SendQueue): string[] {
  const taken: string[] = []
  for (let next = queue.next(); next; next = queue.next()) taken.push(`${next.role} ${next.atMs}`)
  return taken
}

test('a stream begins with its headers and a key frame', () => {
  const queue = new SendQueue()
  for (const [atMs, role] of [
    [0, 'frame'],
    [40, 'header'],
    [80, 'beginning'],
    [120, 'frame'],
  ] as const)
    queue.add(message(atMs, role), headersAt(atMs))
  assert.deepEqual(drain(queue), ['header 80', 'beginning 80', 'frame 120'])
  assert.equal(queue.droppedFrames, 0)
  queue.awaitBeginning()
  queue.add(message(160, 'frame'), [])
  queue.add(message(200, 'beginning'), headersAt(200))
  assert.deepEqual(drain(queue), ['header 200', 'beginning 200'])
})

test('a full queue drops frames until a key frame finds room', () => {
  const queue = new SendQueue()
  queue.add(message(0, 'beginning'), [])
  queue.add(message(5_000, 'frame'), [])
  assert.equal(queue.isDropping, false)
  for (const atMs of [5_001, 5_040]) queue.add(message(atMs, 'frame'), [])
  queue.add(message(6_000, 'beginning'), headersAt(6_000))
  queue.add(message(6_010, 'header'), [])
  assert.deepEqual([queue.droppedFrames, queue.isDropping, queue.fullForMs(7_001)], [3, true, 2_000])
  assert.deepEqual(drain(queue), ['beginning 0', 'frame 5000'])
  queue.add(message(6_040, 'frame'), [])
  queue.add(message(8_000, 'beginning'), headersAt(8_000))
  assert.deepEqual([queue.droppedFrames, queue.isDropping, queue.fullForMs(9_000)], [4, false, 0])
  assert.deepEqual(drain(queue), ['header 8000', 'beginning 8000'])
})

test('a message of any size is accepted by an empty queue', () => {
  const queue = new SendQueue()
  queue.add(message(0, 'beginning', queueLimits.maxBytes + 1), headersAt(0))
  assert.equal(drain(queue).length, 2)
})

const largest = Buffer.alloc(3_000_000)

test('the queue never holds more than its limit, and what leaves it can be decoded', () => {
  const length = fc.constantFrom(0, 1, 100_000, largest.length)
  const role = fc.constantFrom<SourceMessage['role'][]>('frame', 'frame', 'header', 'beginning')
  const action = fc.oneof({ weight: 4, arbitrary: fc.tuple(length, role) }, fc.constant('take' as const))
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
      const queue = new SendQueue()
      const taken: SourceMessage[] = []
      const take = () => {
        const next = queue.next()
        if (next) taken.push(next)
        return next
      }
      for (const [i, each] of actions.entries()) {
        if (each === 'take') take()
        else {
          const added = { ...message(i * 40, each[1]), payload: largest.subarray(0, each[0]) }
          queue.add(added, headersAt(i * 40))
        }
      }
      const before = taken.length
      while (take());
      const bytes = taken.slice(before).reduce((sum, { payload }) => sum + payload.length, 0)
      assert.ok(bytes <= queueLimits.maxBytes, `${bytes} bytes`)
      const isFrame = ({ role }: { role: string }) => role !== 'header'
      const added = actions.filter((each) => each !== 'take' && each[1] !== 'header').length
      assert.ok(taken.filter(isFrame).length + queue.droppedFrames <= added)
      assert.ok(['beginning', undefined].includes(taken.find(isFrame)?.role))
    }),
    { numRuns: 300 },
  )
})
