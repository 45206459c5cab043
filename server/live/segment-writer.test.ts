import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Db } from '../lib/db.ts'
import type { Files } from '../lib/files/files.ts'
import type { Log } from '../lib/log.ts'
import type { Tables } from '../tables.ts'
import { Bytes } from './media/bytes.ts'
import { SegmentWriter } from './segment-writer.ts'

test('an encoder that was not read because the store was slow is read again, however often someone asks', async () => {
  const put = Promise.withResolvers<{ size: number }>()
  const writer = new SegmentWriter({
    db: {} as Db<Tables> as never,
    files: { put: () => put.promise } as unknown as Files,
    log: { warn() {} } as unknown as Log,
    claim: { id: 'br1', fence: 1 },
    onStored() {},
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
