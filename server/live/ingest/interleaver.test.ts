import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Interleaver, type Message } from './interleaver.ts'

function create() {
  const sent: string[] = []
  const interleaver = new Interleaver(({ kind, at }) => void sent.push(`${kind[0]}${at}`))
  const add = (kind: Message['kind'], ...times: number[]) => {
    for (const at of times) interleaver.add({ kind, at, payload: Buffer.alloc(0) })
  }
  return { interleaver, sent, add }
}

test('messages are in the order of their times, and video comes first', () => {
  const { interleaver, sent, add } = create()
  add('video', 0, 40, 80)
  assert.deepEqual(sent, [])
  add('audio', 0, 23, 46, 70)
  assert.deepEqual(sent, ['v0', 'a0', 'a23', 'v40', 'a46', 'a70'])
  interleaver.end()
  assert.deepEqual(sent.slice(6), ['v80'])
})

test('a stream that stops is waited for half a second', () => {
  const { sent, add } = create()
  add('video', 0, 250, 500)
  assert.deepEqual(sent, [])
  add('video', 750)
  assert.deepEqual(sent, ['v0'])
})

test('times wrap around', () => {
  const { sent, add } = create()
  add('video', 2 ** 32 - 20, 20)
  add('audio', 2 ** 32 - 10, 10)
  assert.deepEqual(sent, [`v${2 ** 32 - 20}`, `a${2 ** 32 - 10}`, 'a10'])
})

test('large messages are not held for a stream that does not come', () => {
  const { interleaver, sent } = create()
  for (let i = 0; i < 20; i++) interleaver.add({ kind: 'video', at: 0, payload: Buffer.alloc(2 ** 20) })
  assert.equal(sent.length, 4)
})
