import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readMaster, readMedia } from './playlist.ts'

const base = 'https://example.com/a/master.m3u8?token=1'

test('the rendition with the most pixels is read, with its audio', () => {
  const text = `#EXTM3U
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="low",NAME="x, URI=y", URI="low.m3u8"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="high",NAME="German",URI="de.m3u8"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="high",NAME="English",DEFAULT=YES,URI="en.m3u8?t=2"
#EXT-X-STREAM-INF:BANDWIDTH=9000,RESOLUTION=640x360,AUDIO="low"
360.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=5000,CODECS="avc1,mp4a",RESOLUTION=3840x2160,AUDIO="high"
/b/2160.m3u8
`
  assert.deepEqual(readMaster(text, base), {
    video: 'https://example.com/b/2160.m3u8',
    audio: 'https://example.com/a/en.m3u8?t=2',
  })
  const plain = '#EXTM3U\r\n#EXT-X-STREAM-INF:BANDWIDTH=1\r\n1.m3u8\r\n'
  assert.deepEqual(readMaster(plain, base), { video: 'https://example.com/a/1.m3u8', audio: undefined })
})

test('a rendition is its initialization and its segments', () => {
  const text =
    '#EXTM3U\n#EXT-X-MAP:URI="init.mp4"\n#EXT-X-KEY:METHOD=NONE\n#EXTINF:2,\n1.m4s\n#EXTINF:2,\n2.m4s\n#EXT-X-ENDLIST'
  const names = ['init.mp4', '1.m4s', '2.m4s']
  assert.deepEqual(
    readMedia(text, base),
    names.map((name) => `https://example.com/a/${name}`),
  )
})

test('a long line without an end is read once', () => {
  const letters = 'A'.repeat(1_000_000)
  for (const text of [
    letters,
    letters.replaceAll('AA', 'A,'),
    letters.replaceAll('AA', ' ,'),
    `A="${letters}`,
  ])
    assert.throws(() => readMaster(`#EXTM3U\n#EXT-X-MEDIA:${text}\n`, base), /lists no qualities/)
})

test('what cannot be joined is refused', () => {
  const media =
    (line: string, end = '#EXT-X-ENDLIST') =>
    () =>
      readMedia(`#EXTM3U\n${line}\n1.ts\n${end}`, base)
  assert.throws(media('', ''), /has no end/)
  assert.throws(media('#EXT-X-KEY:METHOD=AES-128,URI="k"'), /encrypted/)
  assert.throws(media('#EXT-X-DISCONTINUITY'), /cannot be joined/)
  assert.throws(media('#EXT-X-BYTERANGE:5@0'), /cannot be joined/)
  assert.throws(media('#EXT-X-MAP:URI="a"\n#EXT-X-MAP:URI="b"'), /cannot be joined/)
  assert.throws(() => readMedia('<html>', base), /not a playlist/)
  assert.throws(() => readMedia('#EXTM3U\n#EXT-X-ENDLIST', base), /no segments/)
  assert.throws(() => readMaster('#EXTM3U\n#EXT-X-ENDLIST', base), /lists no qualities/)
})
