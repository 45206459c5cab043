import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attachment, downloadName } from './download-name.ts'
import { readRange } from './send.ts'

test('a single range is read, and anything else is ignored', () => {
  for (const [header, expected] of [
    ['bytes=0-0', { from: 0, to: 0 }],
    ['bytes=0-', { from: 0, to: 99 }],
    ['bytes=10-19', { from: 10, to: 19 }],
    ['Bytes=10-1000', { from: 10, to: 99 }],
    ['bytes=-10', { from: 90, to: 99 }],
    ['bytes=-1000', { from: 0, to: 99 }],
    ['bytes=99-', { from: 99, to: 99 }],
    [`bytes=0-${'9'.repeat(400)}`, { from: 0, to: 99 }],
    ['bytes=100-', 'outside'],
    [`bytes=${'9'.repeat(400)}-`, 'outside'],
    ['bytes=-0', 'outside'],
    ['bytes=20-10', undefined],
    ['bytes=-', undefined],
    ['bytes=', undefined],
    ['bytes=a-b', undefined],
    ['bytes=0-1,5-6', undefined],
    ['lines=0-1', undefined],
    ['bytes=-5-10', undefined],
  ] as const) {
    assert.deepEqual(readRange(header, 100), expected, header)
  }
  assert.equal(readRange('bytes=0-', 0), 'outside')
  assert.equal(readRange('bytes=-5', 0), 'outside')
})

test('a title becomes a name that is safe for file systems and headers', () => {
  for (const [title, name] of [
    ['My film', 'My film.mp4'],
    ['../../etc/passwd', '-..-etc-passwd.mp4'],
    ['.hidden', 'hidden.mp4'],
    ['a "b"\r\nSet-Cookie: x', 'a -b-Set-Cookie- x.mp4'],
    ['exe\u202egpj', 'exegpj.mp4'],
    ['Größe 100%', 'Größe 100%.mp4'],
    ['ends. .', 'ends.mp4'],
    ['', 'video.mp4'],
    ['\ud800', 'video.mp4'],
    ['...', 'video.mp4'],
  ] as const) {
    assert.equal(downloadName(title), name)
  }
  const long = downloadName('字'.repeat(1000))
  assert.ok(Buffer.byteLength(long) <= 204 && !long.includes('\ufffd'))
})

test('the header contains the ASCII name and the full name', () => {
  assert.equal(
    attachment(`Größe (100%) 'x' 🎬`),
    `attachment; filename="Gr__e (100_) 'x' _.mp4"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%20%28100%25%29%20%27x%27%20%F0%9F%8E%AC.mp4`,
  )
})
