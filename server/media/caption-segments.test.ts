import assert from 'node:assert/strict'
import { test } from 'node:test'
import { captionPlaylist, captionSegment } from './caption-segments.ts'
import { parseCues } from './webvtt.ts'

/** 130.5 s, so three segments. */
const grid = { rate: { num: 24_000, den: 1001 }, frames: 3129 }
const none = { rate: { num: 25, den: 1 }, frames: 1 }

const durations = (playlist: string) =>
  [...playlist.matchAll(/#EXTINF:([\d.]+),\n(.*)/g)].map((each) => each.slice(1))

test('the playlist is complete and lasts as long as the video', () => {
  const playlist = captionPlaylist(grid, '?avh=x')
  assert.deepEqual(durations(playlist), [
    ['60.000000', '0.vtt?avh=x'],
    ['60.000000', '1.vtt?avh=x'],
    ['10.505375', '2.vtt?avh=x'],
  ])
  assert.match(playlist, /#EXT-X-TARGETDURATION:60\n/)
  assert.match(playlist, /#EXT-X-PLAYLIST-TYPE:VOD\n/)
  assert.ok(playlist.endsWith('#EXT-X-ENDLIST\n'))
})

test('a video of one frame has one segment', () => {
  assert.deepEqual(durations(captionPlaylist(none, '')), [['0.040000', '0.vtt']])
  assert.match(captionPlaylist(none, ''), /#EXT-X-TARGETDURATION:1\n/)
})

test('a cue is in every segment that it overlaps, with unchanged times', async () => {
  const cues = await parseCues(
    [
      'WEBVTT',
      '00:00:00.000 --> 00:00:01.000\nstart',
      '00:00:59.000 --> 00:02:01.000\nlong',
      '00:01:00.000 --> 00:01:01.000\nsecond',
      '00:02:10.000 --> 99:00:00.000\nend',
      '00:02:11.000 --> 00:02:12.000\nafter the end',
    ].join('\n\n'),
  )
  const header = 'WEBVTT\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:0\n\n'
  const long = '00:00:59.000 --> 00:02:01.000\nlong\n\n'
  const segment = (index: number) => captionSegment(grid, cues, index)
  assert.equal(segment(0), [header, '00:00:00.000 --> 00:00:01.000\nstart\n\n', long].join(''))
  assert.equal(segment(1), [header, long, '00:01:00.000 --> 00:01:01.000\nsecond\n\n'].join(''))
  assert.equal(segment(2), [header, long, '00:02:10.000 --> 99:00:00.000\nend\n\n'].join(''))
  assert.equal(segment(3), undefined)
  assert.equal(captionSegment(none, [], 0), header)
})
