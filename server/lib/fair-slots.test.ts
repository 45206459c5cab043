import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FairSlots } from './fair-slots.ts'

const never = new AbortController().signal

const longMs = 600_000

/** Takes a slot and notes the name once it is granted. */
function taker(slots: FairSlots) {
  const granted: string[] = []
  const take = async (subject: string, name: string, { signal = never, waitMs = longMs } = {}) => {
    const isTaken = await slots.take(subject, waitMs, signal)
    if (isTaken) granted.push(name)
    return isTaken
  }
  return { granted, take }
}

test('a free slot goes to the subject with the fewest running, in order of arrival', async () => {
  const slots = new FairSlots({ maxRunning: 2, maxWaiting: 10 })
  const { granted, take } = taker(slots)
  await Promise.all([take('a', 'a1'), take('a', 'a2')])
  const waiting = [take('a', 'a3'), take('a', 'a4'), take('b', 'b1'), take('b', 'b2')]
  slots.release('a')
  await waiting[2]
  slots.release('a')
  await waiting[0]
  slots.release('b')
  await waiting[3]
  slots.release('a')
  await waiting[1]
  assert.deepEqual(granted, ['a1', 'a2', 'b1', 'a3', 'b2', 'a4'])
})

test('who leaves or has waited too long gets no slot and makes room in the queue', async () => {
  const slots = new FairSlots({ maxRunning: 1, maxWaiting: 2 })
  const { granted, take } = taker(slots)
  const gone = new AbortController()
  await take('a', 'a1')
  const leaving = take('a', 'a2', { signal: gone.signal })
  const tired = take('a', 'a3', { waitMs: 1 })
  assert.equal(await take('b', 'b1'), false, 'the queue is full')
  gone.abort()
  assert.deepEqual(await Promise.all([leaving, tired]), [false, false])
  const staying = take('a', 'a4')
  slots.release('a')
  assert.equal(await staying, true)
  slots.release('a')
  assert.equal(await take('b', 'b2', { signal: gone.signal }), false, 'it has left before')
  assert.equal(await take('b', 'b3'), true)
  assert.deepEqual(granted, ['a1', 'a4', 'b3'])
})
