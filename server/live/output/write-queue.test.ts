import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Db } from '../../lib/db.ts'
import { FileStoreError, type Files } from '../../lib/files/files.ts'
import type { Log } from '../../lib/log.ts'
import type { Tables } from '../../tables.ts'
import { Bytes } from '../media/bytes.ts'
import { WriteQueue } from './write-queue.ts'

test('an encoder that was not read because the store was slow is read again, however often someone asks', async () => {
  const put = Promise.withResolvers<{ size: number }>()
  const writer = new WriteQueue({
    db: {} as Db<Tables> as never,
    files: { put: () => put.promise } as unknown as Files,
    log: { warn() {} } as unknown as Log,
    claim: { id: 'br1', fence: 1 },
    onStored() {},
    onDropped() {},
    onLost() {},
    onProblem() {},
  })
  assert.equal(writer.drain(), undefined)
  const times = { epoch: 1, start_ms: 0, duration_ms: 2_000, received_at: new Date() }
  writer.segment({
    quality: 'source',
    sequence: 0,
    ...times,
    data: new Bytes([Buffer.alloc(65 * 1024 * 1024)]),
  })
  const waits = [writer.drain(), writer.drain()]
  assert.ok(waits.every((wait) => wait !== undefined))
  writer.abandon()
  put.resolve({ size: 0 })
  await Promise.all(waits)
  assert.equal(writer.drain(), undefined)
})

/** A writer whose store is full until the test says otherwise. */
function openWriter() {
  let isFull = true
  const [stored, dropped, problems]: [number[], number[], unknown[]] = [[], [], []]
  let changed = Promise.withResolvers<void>()
  const note = (list: unknown[], value: unknown) => {
    list.push(value)
    changed.resolve()
    changed = Promise.withResolvers()
  }
  const writer = new WriteQueue({
    db: { executeQuery: async () => ({ rows: [{}] }) } as unknown as Db<Tables> as never,
    files: {
      async put() {
        if (isFull) throw new FileStoreError('full', new Error('the disk is almost full'))
      },
    } as unknown as Files,
    log: { warn() {} } as unknown as Log,
    claim: { id: 'br1', fence: 1 },
    onStored: ({ sequence }) => note(stored, sequence),
    onDropped: ({ sequence }) => note(dropped, sequence),
    onLost() {},
    onProblem: (error) => note(problems, error),
  })
  const times = { epoch: 1, start_ms: 0, duration_ms: 2_000, received_at: new Date() }
  return {
    writer,
    stored,
    dropped,
    problems,
    send(sequence: number) {
      const data = new Bytes([Buffer.alloc(4 * 1024 * 1024)])
      writer.segment({ quality: 'source', sequence, ...times, data })
    },
    free() {
      isFull = false
    },
    async until(isMet: () => boolean) {
      while (!isMet()) await changed.promise
    },
  }
}

test('while the store is full, the newest segments wait, older ones are given up, and the encoder is read', async () => {
  const { writer, stored, dropped, problems, send, free, until } = openWriter()
  for (let sequence = 0; sequence < 12; sequence++) send(sequence)
  await until(() => dropped.length === 4)
  assert.equal(writer.drain(), undefined)
  assert.ok(problems.at(-1) instanceof FileStoreError)
  free()
  await until(() => stored.length === 8)
  assert.deepEqual(
    [dropped, stored],
    [
      [0, 1, 2, 3],
      [4, 5, 6, 7, 8, 9, 10, 11],
    ],
  )
  assert.equal(problems.at(-1), undefined)
})

test('a broadcast can end while the store is full', async () => {
  const { writer, dropped, send } = openWriter()
  send(0)
  writer.end()
  assert.equal(await writer.run(async () => true), true)
  assert.deepEqual(dropped, [0])
})
