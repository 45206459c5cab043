import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Files } from '../../lib/files/files.ts'
import type { SourcePieceRow } from '../tables.ts'
import { arrivedRanges } from './arrived.ts'

/** Locations are offsets, as in the disk store. `own` is a file of the chunk. */
const files = {
  offsetInUpload: (_handle, { location }) => (location === 'own' ? undefined : Number(location)),
} as Pick<Files, 'offsetInUpload'> as Files

const chunk = (position: number, size: number, place: string | null = String(position)): SourcePieceRow => ({
  ...{ video_id: 'vi', position, size, place },
  lease_owner: null,
  lease_until: null,
})

const nothing = { handle: 'h', arriving_from: null, arriving_bytes: null }
const arriving = (from: number, bytes: number) => ({ ...nothing, arriving_from: from, arriving_bytes: bytes })

test('received chunks can be read, and what is written of the next one', () => {
  const chunks = [chunk(0, 10), chunk(10, 10), chunk(50, 5), chunk(60, 10, null)]
  assert.deepEqual(arrivedRanges(files, { ...nothing, form: 'bytes' }, chunks), [
    { from: 0, to: 20 },
    { from: 50, to: 55 },
  ])
  assert.deepEqual(arrivedRanges(files, { ...arriving(20, 7), form: 'bytes' }, chunks), [
    { from: 0, to: 27 },
    { from: 50, to: 55 },
  ])
  assert.deepEqual(arrivedRanges(files, { ...arriving(0, 7), form: 'whole' }, []), [{ from: 0, to: 7 }])
})

test('a chunk in a file of its own cannot be read before the upload is complete', () => {
  const chunks = [chunk(0, 10), chunk(10, 10, 'own'), chunk(20, 10)]
  assert.deepEqual(arrivedRanges(files, { ...nothing, form: 'bytes' }, chunks), [
    { from: 0, to: 10 },
    { from: 20, to: 30 },
  ])
})

test('parts follow each other in the file, up to the first one that is missing or elsewhere', () => {
  const source = { ...nothing, form: 'parts' } as const
  const read = (...chunks: SourcePieceRow[]) => arrivedRanges(files, source, chunks)
  assert.deepEqual(read(chunk(1, 10, '0'), chunk(2, 20, '10'), chunk(4, 10, '40')), [{ from: 0, to: 30 }])
  assert.deepEqual(read(chunk(1, 10, '0'), chunk(2, 20, 'own'), chunk(3, 10, '30')), [{ from: 0, to: 10 }])
  assert.deepEqual(read(chunk(1, 10, '0'), chunk(2, 20, '12')), [{ from: 0, to: 10 }])
  assert.deepEqual(read(chunk(2, 10, '10')), [])
})

test('a part that is being written counts only if all parts before it have arrived', () => {
  const parts = [chunk(1, 10, '0')]
  assert.deepEqual(arrivedRanges(files, { ...arriving(10, 5), form: 'parts' }, parts), [{ from: 0, to: 15 }])
  assert.deepEqual(arrivedRanges(files, { ...arriving(20, 5), form: 'parts' }, parts), [{ from: 0, to: 10 }])
})
