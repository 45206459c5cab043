import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readViewersSearch } from '../viewers-search.ts'
import { changeOf, readRange } from './period.ts'

const now = Date.parse('2026-11-16T12:34:56Z')
const view = (search: Record<string, unknown>) => {
  const { current, previous, interval } = readRange(readViewersSearch(search), now)
  return [
    ...[current.from, current.to, previous.from, previous.to].map((date) => date.toISOString()),
    interval,
  ]
}

test('the last days begin at midnight, and the previous period is equally complete', () => {
  assert.deepEqual(view({}), [
    '2026-11-10T00:00:00.000Z',
    '2026-11-16T12:34:56.000Z',
    '2026-11-03T00:00:00.000Z',
    '2026-11-09T12:34:56.000Z',
    'day',
  ])
})

test('the last 24 hours are 24 intervals', () => {
  assert.deepEqual(view({ period: '24h' }), [
    '2026-11-15T13:00:00.000Z',
    '2026-11-16T12:34:56.000Z',
    '2026-11-14T13:00:00.000Z',
    '2026-11-15T12:34:56.000Z',
    'hour',
  ])
})

test('a period of days includes both, in any order', () => {
  const expected = [
    '2026-11-01T00:00:00.000Z',
    '2026-11-04T00:00:00.000Z',
    '2026-10-29T00:00:00.000Z',
    '2026-11-01T00:00:00.000Z',
    'day',
  ]
  assert.deepEqual(view({ period: 'custom', from: '2026-11-01', to: '2026-11-03' }), expected)
  assert.deepEqual(view({ period: 'custom', from: '2026-11-03', to: '2026-11-01' }), expected)
  assert.equal(view({ period: 'custom', from: '2026-11-16', to: '2026-11-16' })[4], 'hour')
})

test('values of the URL that are not valid are left out', () => {
  assert.deepEqual(
    readViewersSearch({
      period: '1y',
      from: '2026-99-99',
      to: 'x',
      tab: 1,
      tag: 12,
      media: {},
      referrer: '',
    }),
    { tag: '12', referrer: '' },
  )
})

test('a change needs something to compare with', () => {
  assert.equal(changeOf(3, 2), 0.5)
  assert.equal(changeOf(3, 0), undefined)
  assert.equal(changeOf(3, undefined), undefined)
})
