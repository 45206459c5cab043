import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findLanguage, hasRightToLeft } from './languages.ts'

const find = (tags: string[], ...wanted: string[]) =>
  findLanguage(
    tags.map((srclang) => ({ srclang })),
    wanted,
  )?.srclang

test('a language is found by its whole tag, then by its main language', () => {
  assert.equal(find(['en', 'en-GB'], 'en-gb'), 'en-GB')
  assert.equal(find(['en-US', 'en'], 'en-GB'), 'en')
  assert.equal(find(['fr', 'en-US'], 'en'), 'en-US')
  assert.equal(find(['fr', 'en'], 'de', 'fr-CA', 'en'), 'fr')
  assert.equal(find(['fr'], 'en'), undefined)
  assert.equal(find(['fil'], 'fi'), undefined)
  assert.equal(find(['fr']), undefined)
})

test('right-to-left letters are recognized', () => {
  for (const text of ['العربية', 'עברית', 'iPhone هو', 'فارسی', 'ދިވެހި']) assert.ok(hasRightToLeft(text), text)
  for (const text of ['English', '日本語', '123 !', '']) assert.ok(!hasRightToLeft(text), text)
})
