import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PlaylistWindow } from '../state/playlist-window.ts'
import { writePlaylist } from './playlist.ts'

const options = { targetSeconds: 2, partMs: 500, query: '', skips: false, reports: [] }
const part = (isIndependent = false) => ({ durationMs: 500, isIndependent })

function fill(window: PlaylistWindow, count: number, from = 0, epoch = 1): void {
  for (let sequence = from; sequence < from + count; sequence++) {
    const segment = { sequence, epoch, receivedAt: 1_000_000 + 2_000 * sequence }
    for (let i = 0; i < 4; i++) window.addPart(part(i === 0), segment)
    window.addSegment({ ...segment, durationMs: 2_000, bytes: 1, fence: 1 })
  }
}

test('a playlist lists segments, the newest parts and the next part', () => {
  const window = new PlaylistWindow(3_600_000)
  fill(window, 5)
  window.addPart(part(true), { sequence: 5, epoch: 1, receivedAt: 1_010_000 })
  const reports = [{ path: '../480p/index.m3u8', sequence: 5, part: 0 }]
  const lines = writePlaylist(window.state, { ...options, reports }).split('\n')
  assert.deepEqual(lines.slice(0, 8), [
    '#EXTM3U',
    '#EXT-X-VERSION:9',
    '#EXT-X-TARGETDURATION:2',
    '#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.5,CAN-SKIP-UNTIL=12',
    '#EXT-X-PART-INF:PART-TARGET=0.5',
    '#EXT-X-MEDIA-SEQUENCE:0',
    '#EXT-X-MAP:URI="init-1.mp4"',
    '#EXT-X-PROGRAM-DATE-TIME:1970-01-01T00:16:40.000Z',
  ])
  assert.equal(lines.filter((line) => line.startsWith('#EXTINF:2,')).length, 5)
  assert.deepEqual(
    lines.filter((line) => line.startsWith('#EXT-X-PART:')).map((line) => /URI="(\S+)"/.exec(line)?.[1]),
    ['2.0', '2.1', '2.2', '2.3', '3.0', '3.1', '3.2', '3.3', '4.0', '4.1', '4.2', '4.3', '5.0'].map(
      (name) => `${name.replace('.', '-1.')}.m4s`,
    ),
  )
  assert.equal(lines.filter((line) => line.endsWith(',INDEPENDENT=YES')).length, 4)
  assert.deepEqual(lines.slice(-3), [
    '#EXT-X-PRELOAD-HINT:TYPE=PART,URI="5-1.1.m4s"',
    '#EXT-X-RENDITION-REPORT:URI="../480p/index.m3u8",LAST-MSN=5,LAST-PART=0',
    '',
  ])
})

test('a segment that could not be stored is a gap, and the segments around it stay', () => {
  const window = new PlaylistWindow(3_600_000)
  fill(window, 5)
  window.drop(1)
  assert.equal(window.find(1), undefined)
  const gaps = [...writePlaylist(window.state, options).matchAll(/#EXT-X-GAP\n#EXTINF:2,\n(\S+)/g)]
  assert.deepEqual(
    gaps.map(([, name]) => name),
    ['1-1.m4s'],
  )
  fill(window, 1, 5)
  assert.deepEqual(
    window.state.segments.map(({ sequence }) => sequence),
    [0, 1, 2, 3, 4, 5],
  )
  // Nothing before the first segment is left to rewind to.
  window.drop(0)
  fill(window, 1, 6)
  assert.equal(window.state.segments[0]?.sequence, 2)
})

test('an update leaves out old segments, and stays short after an hour', () => {
  const window = new PlaylistWindow(3_600_000)
  fill(window, 2_000)
  const full = writePlaylist(window.state, options)
  assert.equal(full.match(/#EXTINF/g)?.length, 1_800)
  assert.match(full, /#EXT-X-MEDIA-SEQUENCE:200\n/)
  const update = writePlaylist(window.state, { ...options, skips: true })
  assert.match(update, /#EXT-X-MEDIA-SEQUENCE:200\n#EXT-X-SKIP:SKIPPED-SEGMENTS=1794\n/)
  assert.equal(update.match(/#EXTINF/g)?.length, 6)
  assert.ok(!update.includes('#EXT-X-MAP'))
  assert.ok(update.length < 2_000, `${update.length} bytes`)
})

test('a new connection of the encoder has its own init segment, and removed ones are counted', () => {
  const window = new PlaylistWindow(20_000)
  fill(window, 3)
  fill(window, 3, 3, 2)
  assert.match(
    writePlaylist(window.state, options),
    /2-1\.m4s\n#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI="init-2\.mp4"\n/,
  )
  fill(window, 10, 6, 2)
  const later = writePlaylist(window.state, options)
  assert.match(
    later,
    /#EXT-X-MEDIA-SEQUENCE:6\n#EXT-X-DISCONTINUITY-SEQUENCE:1\n#EXT-X-MAP:URI="init-2\.mp4"\n/,
  )
  assert.ok(!later.includes('#EXT-X-DISCONTINUITY\n'))
})

test('a quality that has nothing of a connection counts its discontinuity nevertheless, as the others do', () => {
  const [source, late] = [new PlaylistWindow(20_000), new PlaylistWindow(20_000)]
  for (const window of [source, late]) fill(window, 2)
  fill(source, 1, 2, 2)
  for (const window of [source, late]) fill(window, 2, 3, 3)
  const numberOf = (window: PlaylistWindow, name: string) =>
    writePlaylist(window.state, options)
      .split(name)[0]!
      .match(/#EXT-X-DISCONTINUITY\n/g)?.length
  assert.deepEqual([numberOf(source, '\n3-3.m4s'), numberOf(late, '\n3-3.m4s')], [2, 2])
  for (const window of [source, late]) fill(window, 10, 5, 3)
  for (const window of [source, late])
    assert.match(writePlaylist(window.state, options), /#EXT-X-DISCONTINUITY-SEQUENCE:2\n/)
})

test('an ended stream has an end tag and no next part', () => {
  const window = new PlaylistWindow(20_000)
  fill(window, 2)
  window.end()
  const playlist = writePlaylist(window.state, { ...options, query: '?avh=x' })
  assert.ok(playlist.endsWith('1-1.m4s?avh=x\n#EXT-X-ENDLIST\n'))
  assert.ok(!playlist.includes('PRELOAD-HINT'))
})

test('a request for a part waits until it exists, and ends with the stream or the client', async () => {
  const window = new PlaylistWindow(20_000)
  fill(window, 2)
  const signal = new AbortController()
  const order: string[] = []
  const wait = (name: string, sequence: number, index?: number) =>
    window.waitUntil(() => window.lists(sequence, index), signal.signal).then(() => order.push(name))
  await wait('old', 1, 3)
  const waits = [wait('2.0', 2, 0), wait('2.1', 2, 1), wait('2', 2), wait('3.0', 3, 0), wait('9', 9)]
  const segment = { sequence: 2, epoch: 1, receivedAt: 0 }
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  window.addPart(part(true), segment)
  await turn()
  assert.deepEqual(order, ['old', '2.0'])
  window.addSegment({ ...segment, durationMs: 500, bytes: 1, fence: 1 })
  await turn()
  // The segment ended before its second part, so a player that asked for it waits for the next segment.
  assert.deepEqual(order.slice(2), ['2'])
  assert.ok(window.has(2, 1) && !window.lists(2, 1))
  window.addPart(part(true), { sequence: 3, epoch: 1, receivedAt: 500 })
  await turn()
  assert.deepEqual(order.slice(3).sort(), ['2.1', '3.0'])
  window.end()
  await Promise.all(waits)
  const other = new PlaylistWindow(20_000)
  const gone = other.waitUntil(() => other.lists(5, 0), signal.signal)
  signal.abort()
  await gone
})

test('a playlist without parts has complete segments only', () => {
  const window = new PlaylistWindow(3_600_000)
  fill(window, 3)
  window.addPart(part(true), { sequence: 3, epoch: 1, receivedAt: 1_006_000 })
  const text = writePlaylist(window.state, { ...options, partMs: undefined })
  assert.equal(text.match(/#EXTINF/g)?.length, 3)
  assert.doesNotMatch(text, /PART|PRELOAD|SERVER-CONTROL/)
  assert.ok(text.endsWith('2-1.m4s\n'), text)
})

test('segments that were lost are gaps, so that the numbers of the others stay right', () => {
  const window = new PlaylistWindow(10_000)
  fill(window, 3)
  fill(window, 2, 5, 2)
  const lines = writePlaylist(window.state, { ...options, partMs: undefined }).split('\n')
  assert.ok(lines.includes('#EXT-X-MEDIA-SEQUENCE:1'))
  assert.deepEqual(
    lines.filter((line) => /m4s$|GAP|DISCONTINUITY$/.test(line)),
    [
      ...['1-1.m4s', '2-1.m4s', '#EXT-X-GAP', '3-1.m4s', '#EXT-X-GAP', '4-1.m4s'],
      ...['#EXT-X-DISCONTINUITY', '5-2.m4s', '6-2.m4s'],
    ],
  )
  assert.equal(window.find(3), undefined)
  assert.equal(window.find(5)?.epoch, 2)
  fill(window, 1, 7, 2)
  // A playlist does not begin with a gap.
  const later = writePlaylist(window.state, { ...options, partMs: undefined })
  fill(window, 1, 8, 2)
  assert.match(later, /MEDIA-SEQUENCE:2\n/)
  assert.match(
    writePlaylist(window.state, { ...options, partMs: undefined }),
    /MEDIA-SEQUENCE:5\n#EXT-X-DISCONTINUITY-SEQUENCE:1\n/,
  )
})
