import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EncodingPlan } from '../encoding/tables.ts'
import { masterPlaylist, mediaPlaylist, type Run, withoutSlow } from './playlists.ts'

const planOf = (num: number, den: number, frames: number): EncodingPlan => ({
  key: 'source',
  offsetSeconds: 0,
  rate: { num, den },
  frames,
  rungs: [
    { quality: '240p', width: 426, height: 240, maxKbps: 400 },
    { quality: '360p', width: 640, height: 360, maxKbps: 800 },
  ],
  hasSound: true,
  isWatermarked: false,
})

const runOf = (rendition: string, segments: number, bytes = 0): Run => {
  const codec = rendition === 'sound' ? 'mp4a.40.2' : 'avc1.640015'
  return { rendition, codec, segments, bytes, sizes: [bytes / 4, bytes / 2] }
}

const durations = (playlist: string) => [...playlist.matchAll(/#EXTINF:([\d.]+),/g)].map(([, each]) => each!)

const microseconds = (playlist: string) =>
  durations(playlist).reduce((sum, each) => sum + Math.round(Number(each) * 1e6), 0)

test('durations follow the frame grid: at 24000/1001 a segment has 96 frames', () => {
  const plan = planOf(24_000, 1001, 48 + 96 + 30)
  assert.deepEqual(durations(mediaPlaylist(plan, '240p', 3)), ['2.002000', '4.004000', '1.251250'])
})

test('durations of audio segments are multiples of 1024 samples', () => {
  const plan = planOf(25, 1, 150)
  // 2 s are 93.75 frames, 6 s are 281.25. Ends are rounded: 2.005333 and 5.994667.
  assert.deepEqual(durations(mediaPlaylist(plan, 'sound', 2)), ['2.005333', '3.989334'])
})

test('durations add up to the microsecond over ten hours', () => {
  const frames = Math.round((36_000 * 30_000) / 1001)
  const plan = planOf(30_000, 1001, frames)
  const video = mediaPlaylist(plan, '240p', 1e6)
  assert.ok(video.endsWith('#EXT-X-ENDLIST\n'))
  assert.equal(microseconds(video), Math.round((frames * 1001e6) / 30_000))
  const audioFrames = Math.round((frames * 1001 * 48_000) / (30_000 * 1024))
  assert.equal(microseconds(mediaPlaylist(plan, 'sound', 1e6)), Math.round((audioFrames * 1024e6) / 48_000))
})

test('the target duration is the same for video and audio, from the first segment on', () => {
  const targets = (plan: EncodingPlan) =>
    new Set(
      ['240p', 'sound'].flatMap((rendition) =>
        [1, 2, 1e6].map(
          (segments) => /TARGETDURATION:(\d+)/.exec(mediaPlaylist(plan, rendition, segments))![1],
        ),
      ),
    )
  assert.deepEqual([...targets(planOf(25, 1, 1000))], ['4'])
  assert.deepEqual([...targets(planOf(25, 1, 10))], ['1'])
  // Video segments of 4.493 s, and some audio segments of 4.501 s.
  assert.deepEqual([...targets(planOf(10_000, 44_930, 100))], ['5'])
})

test('the bandwidth is the encoder limit while the playlist grows, and at least the measured one at the end', () => {
  const plan = planOf(25, 1, 150)
  const bandwidths = (bytes: number, segments: number) => {
    const runs = [runOf('240p', segments, bytes), runOf('sound', segments, 96_000)]
    return /INF:(.*?),CODECS/.exec(
      masterPlaylist({ plan, runs, hasAudio: true, language: null, captions: [] }),
    )![1]
  }
  assert.equal(bandwidths(60_000, 1), 'BANDWIDTH=528000')
  assert.equal(bandwidths(60_000, 2), 'BANDWIDTH=528000,AVERAGE-BANDWIDTH=208000')
  // 300 kB in the 4 s of one segment, and 48 kB of audio.
  assert.equal(bandwidths(600_000, 2), `BANDWIDTH=${600_000 + 96_000},AVERAGE-BANDWIDTH=928000`)
})

test('the audio is named after its language, if that is known', () => {
  const plan = planOf(25, 1, 150)
  const runs = [runOf('240p', 1), runOf('sound', 1)]
  const named = (language: string | null) =>
    /TYPE=AUDIO,GROUP-ID="sound",(.*),DEFAULT/.exec(
      masterPlaylist({ plan, runs, hasAudio: true, language, captions: [] }),
    )?.[1]
  assert.equal(named('fr'), 'NAME="Français",LANGUAGE="fr"')
  assert.equal(named(null), 'NAME="Audio"')
})

test('captions are subtitle renditions of every quality, with unique native names', () => {
  const plan = planOf(25, 1, 150)
  const captions = [
    { language: 'en', isDefault: false },
    { language: 'fr', isDefault: true },
    { language: 'he', isDefault: false },
    { language: 'iw', isDefault: false },
  ]
  const runs = [runOf('240p', 1), runOf('360p', 1)]
  const lines = masterPlaylist({ plan, runs, hasAudio: false, language: null, captions }, '?avh=x').split(
    '\n',
  )
  const group = '#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="captions"'
  const uri = (language: string) => `URI="captions/${language}/manifest.m3u8?avh=x"`
  assert.deepEqual(
    lines.filter((line) => line.startsWith(group)),
    [
      `${group},NAME="English",LANGUAGE="en",DEFAULT=NO,AUTOSELECT=YES,FORCED=NO,${uri('en')}`,
      `${group},NAME="Français",LANGUAGE="fr",DEFAULT=YES,AUTOSELECT=YES,FORCED=NO,${uri('fr')}`,
      `${group},NAME="עברית",LANGUAGE="he",DEFAULT=NO,AUTOSELECT=YES,FORCED=NO,${uri('he')}`,
      `${group},NAME="עברית (iw)",LANGUAGE="iw",DEFAULT=NO,AUTOSELECT=YES,FORCED=NO,${uri('iw')}`,
    ],
  )
  const streams = lines.filter((line) => line.startsWith('#EXT-X-STREAM-INF:'))
  assert.equal(streams.length, 2)
  for (const stream of streams) assert.ok(stream.endsWith(',SUBTITLES="captions"'), stream)
})

test('a quality that is encoded more slowly than it is watched is listed when it is complete or far enough ahead', () => {
  // 100 s, in 26 segments.
  const plan = planOf(25, 1, 2_500)
  const listed = (segments: number, elapsedSeconds: number) =>
    withoutSlow(plan, [runOf('240p', 26), runOf('360p', segments), runOf('sound', 26)], elapsedSeconds)
      .length === 3
  assert.equal(listed(3, 10), true)
  // Half of the speed of the viewer, who would overtake it unless half of it is there.
  assert.equal(listed(3, 20), false)
  assert.equal(listed(13, 99), true)
  assert.equal(listed(13, 101), false)
  assert.equal(listed(26, 1_000), true)
  // A player needs at least one quality.
  const slow = [runOf('240p', 2), runOf('360p', 1), runOf('sound', 2)]
  assert.deepEqual(
    withoutSlow(plan, slow, 1_000).map(({ rendition }) => rendition),
    ['240p', 'sound'],
  )
})
