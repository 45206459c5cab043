import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Turns } from '../../../lib/turns.ts'
import { type AmfValue, encodeAmf } from '../../rtmp/amf0.ts'
import { encodeMessage, messageType, RtmpError } from '../../rtmp/chunks.ts'
import type { Publisher } from '../publisher.ts'
import { RtmpSession, SessionEnded } from './session.ts'

/** A turn has room for a number of chunks, and the test begins the next one. */
class CountedTurns extends Turns {
  readonly #chunks: number
  #left: number
  readonly begins: (() => void)[] = []

  constructor(chunks = Number.POSITIVE_INFINITY) {
    super()
    this.#chunks = chunks
    this.#left = chunks
  }

  override isOver(): boolean {
    return this.#left-- <= 0
  }

  override next(): Promise<void> {
    return new Promise((resolve) => {
      this.begins.push(() => {
        this.#left = this.#chunks
        resolve()
      })
    })
  }
}

const message = (type: number, payload: Buffer, chunkSize = 128) =>
  encodeMessage({ type, streamId: 1, timestamp: 0, payload }, chunkSize)
const command = (...values: AmfValue[]) => message(messageType.command, encodeAmf(...values))
const published = Buffer.concat([
  command('connect', 1, { app: 's' }),
  command('createStream', 2, null),
  command('publish', 3, null, 'key'),
])
const frame = message(messageType.video, Buffer.from([0x17, 1, 0, 0, 0]))
const ping = message(messageType.userControl, Buffer.from([0, 6, 0, 0, 0, 0]))
const publisher = (more: Partial<Publisher> = {}): Publisher => ({
  video() {},
  audio() {},
  metadata() {},
  ...more,
})

function open(given: Publisher, turns = new CountedTurns()) {
  const sent: Buffer[] = []
  const closed = { isClosed: false }
  const session = new RtmpSession({
    turns,
    send: (bytes) => void sent.push(bytes),
    isClosed: () => closed.isClosed,
    publish: async () => ({ publisher: given }),
  })
  return { session, sent, closed }
}

async function publish(given: Publisher) {
  const opened = open(given)
  await opened.session.receive(published)
  return opened
}

test('a long read is handled in several turns, while its memory is used for others', async () => {
  const frames: Buffer[] = []
  const turns = new CountedTurns(10)
  const { session } = open(
    publisher({ video: (_, payload) => void frames.push(Buffer.from(payload)) }),
    turns,
  )
  const read = Buffer.concat([published, ...Array(100).fill(frame)])
  let isHandled = false
  const handled = session.receive(read)!.then(() => {
    isHandled = true
  })
  read.fill(0xff)
  let begun = 0
  while (!isHandled) {
    await new Promise((resolve) => setImmediate(resolve))
    const [begin] = turns.begins.splice(0)
    if (begin) begun++
    begin?.()
  }
  await handled
  assert.equal(frames.length, 100)
  assert.ok(frames.every((each) => each.equals(Buffer.from([0x17, 1, 0, 0, 0]))))
  assert.ok(begun >= 10, `${begun} turns`)
})

test('chunks that complete no message end a turn, too', () => {
  const { session } = open(publisher(), new CountedTurns(10))
  const tiny = message(messageType.setChunkSize, Buffer.from([0, 0, 0, 1]))
  const long = message(messageType.command, encodeAmf('a'.repeat(1_000)), 1)
  assert.ok(session.receive(Buffer.concat([tiny, long])) instanceof Promise)
})

test('a limited number of messages and bytes is accepted before the stream key, and any number after it', async () => {
  const refused = /too much was sent before the stream was published/
  const few = open(publisher()).session
  assert.equal(few.receive(Buffer.concat(Array(200).fill(ping))), undefined)
  assert.throws(() => few.receive(ping), refused)
  const empty = message(messageType.command, Buffer.alloc(0))
  const many = open(publisher()).session
  assert.throws(() => many.receive(Buffer.concat([empty, Buffer.alloc(1_000, 0xc3)])), refused)
  const large = open(publisher()).session
  const values = command('nothing', ...Array(20).fill('x'.repeat(3_000)))
  assert.throws(() => large.receive(Buffer.concat(Array(5).fill(values))), refused)
  const { session } = await publish(publisher())
  await session.receive(Buffer.concat(Array(1_000).fill(values)))
})

test('what an encoder announces before its stream key is accepted', async () => {
  const metadata = { encoder: 'obs-output module', width: 3840, height: 2160, videodatarate: 50_000 }
  let frames = 0
  const { session } = open(publisher({ video: () => void frames++ }))
  const names = ['releaseStream', 'FCPublish', '_checkbw']
  const all = [
    command('connect', 1, { app: 's', type: 'nonprivate', flashVer: 'FMLE/3.0', tcUrl: 'rtmp://x/s' }),
    ...names.map((name, i) => command(name, 2 + i, null, 'key')),
    message(messageType.data, encodeAmf('@setDataFrame', 'onMetaData', metadata)),
    command('createStream', 5, null),
    command('publish', 6, null, 'key', 'live'),
    // Sent without waiting for the answer.
    ...Array(1_000).fill(message(messageType.video, Buffer.alloc(2_000, 7))),
  ]
  await session.receive(Buffer.concat(all))
  assert.equal(frames, 1_000)
})

test('a publisher that is full gets no further message until it has drained', async () => {
  let frames = 0
  let drained: (() => void) | undefined
  const full = publisher({
    video: () => void frames++,
    drain: () =>
      frames === 0
        ? undefined
        : new Promise((resolve) => {
            drained = resolve
          }),
  })
  const { session } = await publish(full)
  const handled = session.receive(Buffer.concat(Array(3).fill(frame)))
  for (const expected of [1, 2, 3]) {
    while (!drained) await new Promise((resolve) => setImmediate(resolve))
    assert.equal(frames, expected)
    const resolve = drained
    drained = undefined
    resolve()
  }
  await handled
})

test('after the end of the stream, or of the connection, what was sent is discarded', async () => {
  for (const end of ['stream', 'connection'] as const) {
    let frames = 0
    const state = { isOver: false }
    const opened = await publish({
      ...publisher({
        video() {
          frames++
          if (end === 'stream') state.isOver = true
          else opened.closed.isClosed = true
        },
        drain: () => Promise.resolve(),
      }),
      get isOver() {
        return state.isOver
      },
    })
    const garbage = Buffer.alloc(1_000, 0xa7)
    await opened.session.receive(Buffer.concat([frame, frame, garbage]))
    assert.equal(frames, 1, end)
  }
})

test('long metadata, long commands and long unknown messages are ignored, and the broadcast goes on', async () => {
  const names: unknown[] = []
  let frames = 0
  const { session } = await publish(
    publisher({ video: () => void frames++, metadata: ({ name }) => void names.push(name) }),
  )
  const index = 'x'.repeat(60_000)
  const metadata = (name: string, ...more: AmfValue[]) =>
    message(messageType.data, encodeAmf('onMetaData', { name }, ...more))
  const aggregate = 22
  const all = [
    ...[metadata('short', index), frame, metadata('long', index, index), frame],
    ...[command('deleteStream', 4, null, index, index), frame],
    ...[message(aggregate, Buffer.alloc(1024 * 1024, 0xff)), frame],
  ]
  await session.receive(Buffer.concat(all))
  assert.deepEqual([names, frames], [['short'], 4])
  assert.throws(() => session.receive(command('deleteStream', 4, null)), SessionEnded)
})

test('only audio and video are longer than 1 MiB', async () => {
  const begin = (type: number) => Buffer.from([3, 0, 0, 0, 0x10, 0, 1, type, 1, 0, 0, 0])
  for (const type of [messageType.data, messageType.command, 22]) {
    const { session } = await publish(publisher())
    assert.throws(() => session.receive(begin(type)), RtmpError)
  }
  const { session } = await publish(publisher())
  assert.equal(session.receive(begin(messageType.video)), undefined)
})
