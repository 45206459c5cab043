import assert from 'node:assert/strict'
import { beforeEach, mock, test } from 'node:test'
import { ChangeStream } from './change-stream.ts'

beforeEach(() => {
  mock.timers.reset()
  mock.timers.enable({ apis: ['setTimeout'] })
})

function open() {
  const stream = new ChangeStream('production', 'ds0', { isReconnect: false })
  const read = () => String(stream.body.read() ?? '')
  const changes = () =>
    [...read().matchAll(/^data: \{"kind":"(.*)","id":"(.*)"\}$/gm)].map(([, ...words]) => words.join(' '))
  read()
  return { stream, read, changes }
}

test('the first change is sent at once, and later ones of its kind together after half a second', () => {
  const { stream, changes } = open()
  for (const id of ['a', 'a', 'b', 'a', 'b']) stream.change('videos', id)
  stream.change('players', 'p')
  assert.deepEqual(changes(), ['videos a', 'players p'])
  mock.timers.tick(499)
  assert.deepEqual(changes(), [])
  mock.timers.tick(1)
  assert.deepEqual(changes(), ['videos a', 'videos b'])
  stream.change('videos', 'c')
  assert.deepEqual(changes(), [])
  mock.timers.tick(500)
  assert.deepEqual(changes(), ['videos c'])
  mock.timers.tick(500)
  stream.change('videos', 'd')
  assert.deepEqual(changes(), ['videos d'])
})

test('viewers are reported every ten seconds at most', () => {
  const { stream, changes } = open()
  stream.change('sessions', '')
  stream.change('sessions', '')
  assert.deepEqual(changes(), ['sessions '])
  mock.timers.tick(9_999)
  assert.deepEqual(changes(), [])
  mock.timers.tick(1)
  assert.deepEqual(changes(), ['sessions '])
})

test('many changes at once become a resync', () => {
  const { stream, read } = open()
  stream.change('videos', 'first')
  read()
  for (let n = 0; n < 501; n++) stream.change('videos', `vi${n}`)
  mock.timers.tick(500)
  assert.equal(read(), 'event: resync\ndata: {}\n\n')
})

test('a stream that nobody reads keeps a limited amount of text and is destroyed', () => {
  const { stream } = open()
  for (let n = 0; n < 100 && !stream.body.destroyed; n++) {
    stream.change(`kind ${n}`, 'x'.repeat(1_000))
    assert.ok(stream.body.readableLength < 66 * 1_024)
  }
  assert.ok(stream.body.destroyed)
  stream.change('videos', 'later')
  stream.end()
})

test('nothing is sent after the end', () => {
  const { stream, read } = open()
  stream.change('videos', 'a')
  stream.change('videos', 'b')
  read()
  stream.end()
  stream.end()
  stream.change('players', 'c')
  stream.resync()
  mock.timers.tick(1_000)
  assert.equal(read(), '')
})
