import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Connecting, findEvicted } from './places.ts'

const encoder = (change: Partial<Connecting> = {}): Connecting => ({
  ...{ streamKey: 'key', environment: 'production', isProven: false },
  ...change,
})

/** Connecting encoders of many live streams, `each` of one. */
const crowd = (streams: number, each: number, change: Partial<Connecting> = {}) =>
  Array.from({ length: streams * each }, (_, i) =>
    encoder({ streamKey: `${change.environment} ${Math.floor(i / each)}`, ...change }),
  )

test('an environment with many stream keys takes no places of another one', () => {
  const connecting = [...crowd(10, 1), ...crowd(90, 1, { environment: 'sandbox' })]
  assert.equal(findEvicted(connecting, 'another')?.environment, 'sandbox')
  assert.equal(findEvicted(connecting.slice(1), 'another'), undefined, 'a place is free')
})

test('a live stream with many connections takes no places of others', () => {
  const greedy = crowd(1, 4, { streamKey: 'greedy', isProven: true })
  const connecting = [...crowd(96, 1), ...greedy]
  assert.equal(findEvicted(connecting, 'another'), greedy[0])
  assert.equal(
    findEvicted(connecting.slice(1), 'greedy'),
    greedy[0],
    'its own place, although others are free',
  )
})

test('an encoder that has answered from its address stays', () => {
  const [first, second, third] = [true, false, false].map((isProven) => encoder({ isProven }))
  const connecting = [first!, second!, third!, encoder()]
  assert.equal(findEvicted(connecting, 'key'), second)
})
