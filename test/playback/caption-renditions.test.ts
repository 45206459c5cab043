import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { assertProblem, call, query, sendFile, sharedKinora, temporaryFolder } from '../support/harness.ts'
import { durationsIn, ffmpeg } from '../support/media/media.ts'
import { findViolations } from '../support/media/playlist-validator.ts'
import { makeVideo, onDisk } from '../support/stored-video.ts'
import { createVideo, media } from '../support/videos.ts'

// Captions in the playlists of HLS.

const service = sharedKinora()

/** A video of 150 s, so that its captions have three segments. */
async function makeLongVideo(): Promise<string> {
  const videoId = await makeVideo(service, onDisk(service))
  await query(
    service.database,
    `update encodings set plan = jsonb_set(plan, '{frames}', '3750') where video_id = $1`,
    [videoId],
  )
  return videoId
}

const cues = [
  ['00:00:00.000', '00:00:01.500', 'Start'],
  ['00:00:58.250', '00:01:02.750', 'Across the boundary'],
  ['00:01:10.000', '00:01:11.000', '<i>Second</i> minute'],
  ['00:02:29.900', '00:02:31.000', 'End'],
] as const
const content = `WEBVTT\n\n${cues.map(([from, to, text]) => `${from} --> ${to}\n${text}\n`).join('\n')}`

async function upload(videoId: string, language = 'en', text = content): Promise<void> {
  const sent = await sendFile(`${service.url}/videos/${videoId}/captions/${language}`, Buffer.from(text))
  assert.equal(sent.status, 200, sent.text)
}

const master = (videoId: string) => media(service.url, videoId, 'hls/manifest.m3u8')

const subtitlesIn = (playlist: string) =>
  [...playlist.matchAll(/^#EXT-X-MEDIA:TYPE=SUBTITLES,.*URI="([^"]*)"$/gm)].map(([, uri]) => uri!)

test('the master playlist has no subtitles until captions are uploaded, and lists them at once', async () => {
  const videoId = await makeLongVideo()
  assert.doesNotMatch((await master(videoId)).text, /SUBTITLES/)
  await upload(videoId, 'en')
  await upload(videoId, 'fr')
  const { text, headers } = await master(videoId)
  assert.deepEqual(findViolations(text, 'master'), [])
  assert.equal(headers.get('cache-control'), 'public, max-age=60')
  assert.deepEqual(subtitlesIn(text), ['captions/en/manifest.m3u8', 'captions/fr/manifest.m3u8'])
  assert.match(text, /NAME="English",LANGUAGE="en",DEFAULT=NO,AUTOSELECT=YES,FORCED=NO/)
  assert.match(text, /#EXT-X-STREAM-INF:.*,SUBTITLES="captions"\n/)

  const json = { default: true }
  await call(`${service.url}/videos/${videoId}/captions/fr`, { method: 'PATCH', json })
  assert.match((await master(videoId)).text, /LANGUAGE="fr",DEFAULT=YES/)
  await call(`${service.url}/videos/${videoId}/captions/fr`, { method: 'DELETE' })
  assert.deepEqual(subtitlesIn((await master(videoId)).text), ['captions/en/manifest.m3u8'])
})

test('ffmpeg reads the exact times and texts through the playlists', async (t) => {
  const videoId = await makeLongVideo()
  await upload(videoId)
  const [uri = ''] = subtitlesIn((await master(videoId)).text)
  const output = join(await temporaryFolder(t), 'read.srt')
  await ffmpeg('-i', `${service.url}/vod/${videoId}/hls/${uri}`, output)
  const read = (await readFile(output, 'utf8')).trim().split(/\n\n\d+\n|^\d+\n/)
  const expected = cues.map(([from, to, text]) => `${from} --> ${to}\n${text}`.replaceAll('.', ','))
  // Some versions read the cue that is in two segments twice.
  assert.deepEqual([...new Set(read.slice(1))], expected)
})

test('segments have a timestamp map, and a cue across a boundary is in both', async () => {
  const videoId = await makeLongVideo()
  await upload(videoId)
  const playlist = await media(service.url, videoId, 'hls/captions/en/manifest.m3u8')
  assert.deepEqual(findViolations(playlist.text, 'media'), [])
  assert.equal(playlist.headers.get('content-type'), 'application/vnd.apple.mpegurl')
  assert.deepEqual(durationsIn(playlist.text), [60, 60, 30])
  const segments = await Promise.all(
    [0, 1, 2].map((n) => media(service.url, videoId, `hls/captions/en/${n}.vtt`)),
  )
  for (const { status, text, headers } of segments) {
    assert.equal(status, 200)
    assert.equal(headers.get('content-type'), 'text/vtt; charset=utf-8')
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.equal(headers.get('cache-control'), 'public, max-age=60')
    assert.ok(text.startsWith('WEBVTT\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:0\n\n'), text)
  }
  const textsOf = ({ text }: { text: string }) =>
    text
      .trimEnd()
      .split('\n\n')
      .slice(1)
      .map((cue) => cue.trim().split('\n')[1])
  assert.deepEqual(segments.map(textsOf), [
    ['Start', 'Across the boundary'],
    ['Across the boundary', '<i>Second</i> minute'],
    ['End'],
  ])
  assert.match(segments[0]!.text, /00:00:58.250 --> 00:01:02.750\nAcross/)
  assert.match(segments[1]!.text, /00:00:58.250 --> 00:01:02.750\nAcross/)
})

test('changed captions are served at once, also if another process changed them', async () => {
  const videoId = await makeLongVideo()
  await upload(videoId)
  const segment = async () => (await media(service.url, videoId, 'hls/captions/en/0.vtt')).text
  assert.match(await segment(), /Start/)
  await upload(videoId, 'en', 'WEBVTT\n\n00:01.000 --> 00:02.000\nReplaced\n')
  assert.match(await segment(), /Replaced/)
  await query(
    service.database,
    `update text_tracks set content = replace(content, 'Replaced', 'Elsewhere'), version = gen_random_uuid()
     where video_id = $1`,
    [videoId],
  )
  assert.match(await segment(), /Elsewhere/)
})

describe('bad files', () => {
  const segmentOf = async (text: string, index = 0) => {
    const videoId = await makeLongVideo()
    await upload(videoId, 'en', text)
    const response = await media(service.url, videoId, `hls/captions/en/${index}.vtt`)
    assert.equal(response.status, 200)
    return response.text.split('\n\n').slice(1).join('\n\n')
  }
  const timing = '00:00:01.000 --> 00:00:02.000'

  test('malformed, backward and late cues are left out; overlapping cues are sorted', async () => {
    const text = [
      ...[
        'WEBVTT',
        '00:05.000 --> 00:04.000\nbackwards',
        '00:01 --> x\nmalformed',
        '99:00:00.000 --> 99:00:01.000\nlate',
      ],
      ...['00:00:03.000 --> 00:00:09.000\nb', '00:00:02.000 --> 00:00:08.000\na'],
    ].join('\n\n')
    assert.equal(
      await segmentOf(text),
      '00:00:02.000 --> 00:00:08.000\na\n\n00:00:03.000 --> 00:00:09.000\nb\n\n',
    )
    assert.equal(await segmentOf(text, 2), '')
  })

  test('tags that WebVTT does not define are left out', async () => {
    const text = `WEBVTT\n\n${timing}\n<b>bold</b><script>alert(1)</script>\n`
    assert.equal(await segmentOf(text), `${timing}\n<b>bold</b>alert(1)\n\n`)
  })

  test('100,000 cues and one endless line are served', async () => {
    const cue = (n: number) => {
      const [m, s] = [Math.floor(n / 60_000), ((n % 60_000) / 1000).toFixed(3)]
      return `${String(m).padStart(2, '0')}:${s.padStart(6, '0')} --> 99:00.000\nx`
    }
    const many = `WEBVTT\n\n${Array.from({ length: 100_000 }, (_, n) => cue(n)).join('\n\n')}\n`
    assert.equal((await segmentOf(many)).split('-->').length - 1, 60_000)
    const line = 'x'.repeat(4_000_000)
    assert.equal(await segmentOf(`WEBVTT\n\n${timing}\n${line}`), `${timing}\n${line}\n\n`)
    assert.equal(await segmentOf(`WEBVTT ${line}`), '')
  })
})

test('files that do not exist return 404', async () => {
  const videoId = await makeLongVideo()
  await upload(videoId)
  const get = (path: string) => media(service.url, videoId, `hls/captions/${path}`)
  assertProblem(await get('fr/manifest.m3u8'), 404, 'resource-not-found', 'language')
  assertProblem(await get('fr/0.vtt'), 404, 'resource-not-found', 'language')
  assertProblem(await get('en/3.vtt'), 404, 'resource-not-found', 'file')
  for (const path of [
    'xx/manifest.m3u8',
    'en/00.vtt',
    'en/-1.vtt',
    'en/1.m4s',
    'en/x',
    '..%2Fen/0.vtt',
    'en/1e1.vtt',
  ])
    assertProblem(await get(path), 404, 'unrecognized-request-url')
  // Nothing is known about the duration of an empty video yet.
  const empty = await createVideo(service)
  await upload(empty)
  assert.equal((await media(service.url, empty, 'hls/captions/en/manifest.m3u8')).status, 202)
})

test('the playlist of the captions is complete while the video is being encoded', async () => {
  const videoId = await makeLongVideo()
  await upload(videoId)
  await query(
    service.database,
    `with hls as (update renditions set state = 'encoding' where video_id = $1)
     update encodings set state = 'encoding', finished_at = null where video_id = $1`,
    [videoId],
  )
  const { status, text } = await master(videoId)
  assert.equal(status, 200)
  assert.deepEqual(subtitlesIn(text), ['captions/en/manifest.m3u8'])
  const video = await media(service.url, videoId, 'hls/240p/manifest.m3u8')
  assert.doesNotMatch(video.text, /ENDLIST/)
  const captions = await media(service.url, videoId, 'hls/captions/en/manifest.m3u8')
  assert.match(captions.text, /PLAYLIST-TYPE:VOD[\s\S]*#EXT-X-ENDLIST\n$/)
})

test('captions of a private video need the session of the viewer', async () => {
  const videoId = await makeLongVideo()
  await upload(videoId)
  const { body } = await call(`${service.url}/videos/${videoId}`, {
    method: 'PATCH',
    json: { public: false },
  })
  for (const path of ['captions/en.vtt', 'hls/captions/en/manifest.m3u8', 'hls/captions/en/0.vtt'])
    assertProblem(await media(service.url, videoId, path), 403, 'private-video')

  const text = await (await fetch(body.assets.hls)).text()
  const [uri = ''] = subtitlesIn(text)
  assert.match(uri, /^captions\/en\/manifest\.m3u8\?avh=\w+$/)
  const playlist = new URL(uri, body.assets.hls)
  const listed = await call(playlist.href, { key: '' })
  assert.equal(listed.headers.get('cache-control'), 'private, max-age=60')
  const [segment = ''] = listed.text.split('\n').filter((line) => line.startsWith('0.vtt'))
  assert.match(segment, /^0\.vtt\?avh=\w+$/)
  assert.match((await call(new URL(segment, playlist).href, { key: '' })).text, /Start/)
  const withoutSession = new URL('0.vtt', playlist).href
  assertProblem(await call(withoutSession, { key: '' }), 404, 'resource-not-found', 'token')
})
