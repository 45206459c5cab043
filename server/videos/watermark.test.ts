import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../lib/errors.ts'
import { readSettings } from './watermark.ts'

test('distances, sizes and opacity are read with their units', () => {
  assert.deepEqual(readSettings({}), { opacity: 1 })
  assert.deepEqual(
    readSettings({ top: '0px', right: '2.5%', width: 'initial', height: '99999px', opacity: '50%' }),
    {
      top: { value: 0, unit: 'px' },
      right: { value: 2.5, unit: '%' },
      width: 'initial',
      height: { value: 99_999, unit: 'px' },
      opacity: 0.5,
    },
  )
  assert.equal(readSettings({ opacity: '0%' }).opacity, 0)
})

test('an invalid setting is rejected by its name', () => {
  const invalid: Record<string, string[]> = {
    top: [
      '',
      '5',
      '-1px',
      '-5%',
      '10em',
      '101%',
      '100.1%',
      '1e3px',
      ' 1px',
      '1px\n',
      'initial',
      '1,5%',
      '123456px',
    ],
    width: ['', '0px', '0%', '0.000px', '150%', 'auto', '-1px', 'INITIAL'],
    opacity: ['', '300%', '0.5', '50px', '-1%', '100.001%', 'initial'],
  }
  for (const [field, values] of Object.entries(invalid)) {
    for (const value of values) {
      assert.throws(
        () => readSettings({ [field]: value }),
        (error) => error instanceof ApiError && error.extra.name === `watermark[${field}]`,
        `${field} ${value}`,
      )
    }
  }
})

test('all invalid settings are reported together', () => {
  assert.throws(
    () => readSettings({ left: '-1px', height: '200%', opacity: '300%' }),
    (error) =>
      error instanceof ApiError &&
      error.extra.problems?.map(({ name }) => name).join() ===
        'watermark[left],watermark[height],watermark[opacity]',
  )
})
