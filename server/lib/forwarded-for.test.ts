import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normalizeForwardedFor } from './forwarded-for.ts'

test('every spelling of an address becomes the same', () => {
  const spellings = {
    '7.7.7.7': [
      '7.7.7.7',
      ' 7.7.7.7:4001 ',
      '7.7.7.7, ,',
      '::ffff:7.7.7.7',
      '[::FFFF:707:707]:80',
      '[7.7.7.7]:1',
    ],
    '2001:db8::': [
      '2001:DB8::',
      '[2001:db8::]:443',
      '[2001:db8::]',
      '2001:0db8:0:0:0:0:0:0',
      '2001:db8::%eth0',
    ],
    '2001:db8::1, 7.7.7.7': ['2001:DB8:0::1 ,7.7.7.7:5', 'unknown, [2001:db8::1], 7.7.7.7'],
  }
  for (const [expected, texts] of Object.entries(spellings))
    for (const text of texts) assert.equal(normalizeForwardedFor(text), expected, text)
})

test('the list ends at an entry that is no address', () => {
  for (const text of [
    '',
    ',',
    'unknown',
    '7.7.7',
    '7.7.7.7:',
    '2001:db8::g',
    '[7',
    `::1${':'.repeat(9_000)}`,
  ])
    assert.equal(normalizeForwardedFor(text), '', text)
})
