import assert from 'node:assert/strict'
import { test } from 'node:test'
import { languages } from '../../videos/languages.ts'
import { readSpokenLanguage } from './spoken-language.ts'

test('servers report a language by its name or its code', () => {
  for (const code of languages) assert.equal(readSpokenLanguage(code), code)
  for (const [reported, code] of [
    ['english', 'en'],
    ['English', 'en'],
    ['en-US', 'en'],
    ['norwegian', 'no'],
    ['nynorsk', 'nn'],
    ['chinese', 'zh'],
    ['persian', 'fa'],
    ['hebrew', 'he'],
    ['iw', 'he'],
    ['zh_CN', 'zh'],
    ['greek', 'el'],
  ])
    assert.equal(readSpokenLanguage(reported!), code, reported)
})

test('a language that the API does not have is unknown', () => {
  for (const reported of ['swedish', 'sv', 'klingon', '', 'constructor', '__proto__'])
    assert.equal(readSpokenLanguage(reported), undefined, reported)
})
