import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nativeName, readLanguage } from './languages.ts'

test('tags of known languages get the usual spelling', () => {
  for (const [tag, expected] of [
    ['en', 'en'],
    ['EN-us', 'en-US'],
    ['zh-HANT-tw', 'zh-Hant-TW'],
    ['es-419', 'es-419'],
    ['ca-VALENCIA', 'ca-valencia'],
    ['no', 'no'],
    // Deprecated, but what the client sent.
    ['iw', 'iw'],
  ] as const)
    assert.equal(readLanguage(tag), expected)
})

test('other strings are no languages', () => {
  for (const tag of [
    ...['', 'e', 'xx', 'english', 'und', 'en-XX', 'en-Abcd', 'en-us-latn', 'en_US', 'en-', '-en', 'en--US'],
    ...[
      'en-u-nu-latn',
      'x-private',
      '../en',
      'en/us',
      'en.vtt',
      'en\0',
      'en\n',
      `en${'-abcdefgh'.repeat(50)}`,
    ],
  ])
    assert.equal(readLanguage(tag), undefined, tag)
})

test('the native name begins with a capital where the script has them', () => {
  for (const [language, name] of [
    ['en', 'English'],
    ['fr', 'Français'],
    ['pt-BR', 'Português (Brasil)'],
    ['he', 'עברית'],
    ['ja', '日本語'],
    ['ka', 'ქართული'],
    // Without a known native name.
    ['tlh', 'Klingon'],
  ] as const)
    assert.equal(nativeName(language), name)
})
