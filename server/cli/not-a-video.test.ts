import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kindOf } from './not-a-video.ts'

const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))))

test('images, documents, archives and text are recognized by their first bytes', () => {
  for (const [head, kind] of [
    [bytes([0x89], 'PNG\r\n', [0x1a], '\n'), 'a PNG image'],
    [bytes([0xff, 0xd8, 0xff, 0xe0, 0]), 'a JPEG image'],
    [bytes('GIF89a', [0, 1]), 'a GIF image'],
    [bytes('RIFF', [10, 0, 0, 0], 'WEBPVP8 '), 'a WebP image'],
    [bytes('%PDF-1.7\n', [0xff]), 'a PDF document'],
    [bytes('PK', [3, 4, 0]), 'a ZIP archive'],
    [bytes([0x1f, 0x8b, 8]), 'a gzip archive'],
    [bytes('Notes\r\n\tüber den Film'), 'text'],
    // The last character is cut.
    [bytes('caf', [0xc3]), 'text'],
    [bytes('#EXTM3U\n'), 'text'],
  ] as const)
    assert.equal(kindOf(head), kind)
})

test('what may be video or audio is left to the service', () => {
  for (const head of [
    bytes([0, 0, 0, 0x20], 'ftypisom'),
    bytes([0x1a, 0x45, 0xdf, 0xa3], 'webm'),
    bytes('RIFF', [10, 0, 0, 0], 'AVI LIST'),
    bytes('RIFF', [10, 0, 0, 0], 'WAVEfmt '),
    bytes('OggS', [0, 2]),
    bytes('ID3', [4, 0, 0, 0]),
    bytes('FLV', [1, 5]),
    bytes('G', [0x40, 0, 0x10]),
    bytes([0xff, 0xf1]),
    bytes('fLaC', [0, 0, 0, 0x22]),
  ])
    assert.equal(kindOf(head), undefined)
})
