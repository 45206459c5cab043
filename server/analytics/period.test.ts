import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../lib/errors.ts'
import { readNamedPeriod } from './period.ts'

const days = (text: string) => {
  const { from, to } = readNamedPeriod(text)
  return [from.toISOString(), to.toISOString()].map((time) => time.replace('T00:00:00.000Z', ''))
}

test('a period is a year, a month, a week, a day or a range of days', () => {
  assert.deepEqual(days('2026'), ['2026-01-01', '2027-01-01'])
  assert.deepEqual(days('2024-02'), ['2024-02-01', '2024-03-01'])
  assert.deepEqual(days('2026-12'), ['2026-12-01', '2027-01-01'])
  assert.deepEqual(days('2024-02-29'), ['2024-02-29', '2024-03-01'])
  assert.deepEqual(days('2026-01-30/2026-02-01'), ['2026-01-30', '2026-02-02'])
})

test('weeks begin on Monday, and the first week contains January 4', () => {
  assert.deepEqual(days('2018-W01'), ['2018-01-01', '2018-01-08'])
  assert.deepEqual(days('2020-W53'), ['2020-12-28', '2021-01-04'])
  assert.deepEqual(days('2021-W01'), ['2021-01-04', '2021-01-11'])
})

test('an invalid period is rejected by name', () => {
  for (const text of [
    ...['', 'yesterday', '26', '2026-13', '2026-00', '2026-02-30', '2026-1-1', '2026-W00', '2021-W53'],
    ...[
      '2026/2027',
      '2026-01-02/',
      '/2026-01-02',
      '2026-01-03/2026-01-02',
      '2026-01-01/2026-01-02/2026-01-03',
    ],
    ...["2026'; drop table", '0000', '2026-01-01T00:00:00Z'],
  ])
    assert.throws(
      () => readNamedPeriod(text),
      (error) => error instanceof ApiError && error.status === 400 && error.extra.name === 'period',
      text,
    )
})
