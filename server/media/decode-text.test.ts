import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeText } from './decode-text.ts'

const text = '1\r\n00:00:01,000 --> 00:00:02,000\r\nÇa va – « Grüße »\r\n'

const windows1252 = (of: string) => Buffer.from(of.replace('–', '\x96'), 'latin1')
const utf16be = (of: string) => Buffer.from(of, 'utf16le').swap16()

test('UTF-8, UTF-16 and Windows-1252 are decoded, with and without a byte order mark', () => {
  for (const bytes of [
    Buffer.from(text),
    Buffer.from(`\uFEFF${text}`),
    Buffer.from(text, 'utf16le'),
    Buffer.from(`\uFEFF${text}`, 'utf16le'),
    utf16be(text),
    utf16be(`\uFEFF${text}`),
    windows1252(text),
  ])
    assert.equal(decodeText(bytes), text)
})

test('a few damaged bytes do not turn UTF-8 into another encoding', () => {
  const bytes = Buffer.concat([Buffer.from(text), Buffer.from([0xe9])])
  assert.equal(decodeText(bytes), `${text}\uFFFD`)
})

test('the result has no NUL characters and no lone surrogates', () => {
  assert.equal(decodeText(Buffer.from('WEBVTT\n\0x')), 'WEBVTT\n\uFFFDx')
  const lone = Buffer.from('\uFEFFa\uD800b', 'utf16le')
  assert.equal(decodeText(lone), 'a\uFFFDb')
})
