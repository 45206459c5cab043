import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../../lib/errors.ts'
import {
  checkAgainstReceived,
  checkSize,
  isComplete,
  minChunkBytes,
  offsetOf,
  positionOf,
  type Range,
  readRange,
} from './range.ts'

const MiB = 1024 * 1024

type Chunks = { position: number; size: number }[]
const sumsOf = (chunks: Chunks) => ({
  count: chunks.length,
  bytes: chunks.reduce((sum, { size }) => sum + size, 0),
})
const inOrder = (chunks: Chunks) => chunks.toSorted((a, b) => a.position - b.position)

/** The result that the store gives, computed from the definition. */
const findOthers = (range: Range, chunks: Chunks) => ({
  last: inOrder(chunks).at(-1),
  isOverlapping:
    range.form === 'bytes' &&
    chunks.some(({ position, size }) => range.from < position + size && position <= range.to),
})

const offsetAfter = (range: Range, chunks: Chunks) =>
  offsetOf(range, { ...sumsOf(chunks), first: inOrder(chunks)[0], last: inOrder(chunks).at(-1) })

const slugOf = (work: () => unknown) => {
  try {
    work()
    return undefined
  } catch (error) {
    assert.ok(error instanceof ApiError)
    return error.slug.replace('video-content-range-', '')
  }
}

test('every form of the header is accepted', () => {
  assert.deepEqual(readRange(undefined), { form: 'whole' })
  assert.deepEqual(readRange('bytes 0-5242879/10000000'), {
    form: 'bytes',
    from: 0,
    to: 5242879,
    total: 10000000,
  })
  assert.deepEqual(readRange('bytes 0-5242879/*'), { form: 'bytes', from: 0, to: 5242879, total: undefined })
  assert.deepEqual(readRange('part 2/3'), { form: 'parts', part: 2, total: 3 })
  assert.deepEqual(readRange(' Part 2/* '), { form: 'parts', part: 2, total: undefined })
})

test('an invalid header is rejected with its specific error', () => {
  for (const [header, slug] of [
    ['', 'malformed'],
    ['bytes 0-1', 'malformed'],
    ['bytes -1-5/6', 'malformed'],
    ['part 1', 'malformed'],
    ['part */2', 'malformed'],
    ['part 99999999999999999999/1', 'malformed'],
    ['bytes 5-4/10', 'by-bytes-from-byte-too-high'],
    ['bytes 0-10/10', 'by-bytes-to-byte-too-high-total'],
    ['bytes 0-0/0', 'by-bytes-total-bytes-zero'],
    ['bytes 0-99/1000', 'by-bytes-range-too-small'],
    ['bytes 0-99/*', 'by-bytes-range-too-small'],
    ['part 0/2', 'by-part-part-zero'],
    ['part 1/0', 'by-part-total-parts-zero'],
    ['part 3/2', 'by-part-part-too-high-total'],
    ['part 10001/*', 'by-part-part-too-high-allowed'],
    ['part 1/10001', 'by-part-total-parts-too-high'],
  ] as const) {
    assert.equal(
      slugOf(() => readRange(header)),
      slug,
      header,
    )
  }
})

test('a range that contradicts received chunks is rejected with its specific error', () => {
  const bytes = { form: 'bytes', total: 20 * MiB, chunks: [{ position: 0, size: 6 * MiB }] } as const
  const parts = { form: 'parts', total: 5, chunks: [{ position: 3, size: 6 * MiB }] } as const
  const open = { form: 'parts', total: undefined, chunks: [{ position: 3, size: 6 * MiB }] } as const
  for (const [header, received, slug] of [
    [undefined, bytes, 'already-initiated'],
    ['part 1/2', bytes, 'started-with-bytes'],
    ['bytes 0-5242879/*', parts, 'started-with-part'],
    [`bytes ${6 * MiB}-${12 * MiB}/${21 * MiB}`, bytes, 'by-bytes-different-total-bytes'],
    [`bytes ${15 * MiB}-${20 * MiB}/*`, bytes, 'by-bytes-to-byte-too-high-total'],
    [`bytes ${6 * MiB - 1}-${12 * MiB}/*`, bytes, 'by-bytes-range-overlap'],
    ['part 2/6', parts, 'by-part-different-total-parts'],
    ['part 6/*', parts, 'by-part-part-too-high-total'],
    ['part 1/2', open, 'by-part-total-parts-too-low'],
    ['part 1/3', open, undefined],
    [`bytes ${6 * MiB}-${12 * MiB}/*`, bytes, undefined],
  ] as const) {
    const { form, total, chunks } = received
    const range = readRange(header)
    const check = () => checkAgainstReceived(range, { form, total, ...findOthers(range, [...chunks]) })
    assert.equal(slugOf(check), slug, header)
  }
})

test('only the last of several parts may be small or empty', () => {
  const size = (range: Range, bytes: number) => slugOf(() => checkSize(range, bytes))
  assert.equal(
    size({ form: 'parts', part: 1, total: 2 }, minChunkBytes - 1),
    'by-part-uploaded-file-too-small',
  )
  assert.equal(
    size({ form: 'parts', part: 1, total: undefined }, minChunkBytes - 1),
    'by-part-uploaded-file-too-small',
  )
  assert.equal(size({ form: 'parts', part: 2, total: 2 }, 0), undefined)
  assert.equal(size({ form: 'parts', part: 1, total: 1 }, 0), 'uploaded-file-empty')
  assert.equal(size({ form: 'parts', part: 1, total: 1 }, 1), undefined)
  assert.equal(size({ form: 'whole' }, 0), 'uploaded-file-empty')
  assert.equal(size({ form: 'bytes', from: 0, to: 9, total: 10 }, 9), 'by-bytes-range-mismatch')
})

test('a source cut anywhere, sent in any order, is complete with its last chunk and not before', () => {
  const sizes = fc.array(fc.integer({ min: minChunkBytes, max: 3 * minChunkBytes }), {
    minLength: 1,
    maxLength: 12,
  })
  fc.assert(
    fc.property(sizes, fc.boolean(), fc.infiniteStream(fc.nat()), (cut, byBytes, chance) => {
      const total = byBytes ? cut.reduce((a, b) => a + b) : cut.length
      let from = 0
      const ranges = cut.map((size, i): { range: Range; size: number } => {
        const range: Range = byBytes
          ? { form: 'bytes', from, to: from + size - 1, total }
          : { form: 'parts', part: i + 1, total }
        from += size
        return { range, size }
      })
      const order = ranges
        .map((item) => ({ item, key: chance.next().value as number }))
        .sort((a, b) => a.key - b.key)
      const chunks: { position: number; size: number }[] = []
      for (const [n, { item }] of order.entries()) {
        const { form } = item.range
        assert.equal(isComplete(form, total, sumsOf(chunks)), false)
        checkAgainstReceived(item.range, { form, total, ...findOthers(item.range, chunks) })
        checkSize(item.range, item.size)
        if (byBytes) assert.equal(offsetAfter(item.range, chunks), positionOf(item.range))
        chunks.push({ position: positionOf(item.range), size: item.size })
        assert.equal(isComplete(form, total, sumsOf(chunks)), n === order.length - 1)
      }
    }),
  )
})

test('the offset of a part is known after all earlier parts, and guessed among parts of equal size', () => {
  const chunks = [
    { position: 1, size: 6 * MiB },
    { position: 2, size: 7 * MiB },
  ]
  assert.equal(offsetAfter({ form: 'parts', part: 3, total: undefined }, chunks), 13 * MiB)
  assert.equal(offsetAfter({ form: 'parts', part: 5, total: undefined }, chunks), 24 * MiB)
  assert.equal(offsetAfter({ form: 'parts', part: 2, total: undefined }, []), undefined)
})
