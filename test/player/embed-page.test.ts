import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import type { EncodingPlan } from '../../server/encoding/tables.ts'
import { type ApiResponse, assertProblem, call, query, sharedKinora } from '../support/harness.ts'
import { createVideo } from '../support/videos.ts'

// The player page, its configuration and oEmbed, for rows as the encoder stores them.

const service = sharedKinora({ KINORA_ROLES: 'api' })

const plan: EncodingPlan = {
  key: 'source',
  offsetSeconds: 0,
  rate: { num: 24_000, den: 1_001 },
  frames: 240,
  rungs: [
    { quality: '240p', width: 426, height: 240, maxKbps: 400 },
    { quality: '1080p', width: 1920, height: 1080, maxKbps: 6000 },
  ],
  hasSound: true,
  isWatermarked: false,
}

const createFilm = (attributes: object = {}) =>
  createVideo(service, { title: 'Film', description: 'A film.', ...attributes })

async function insertEncoding(
  videoId: string,
  started: string[],
  planned: EncodingPlan = plan,
): Promise<void> {
  const rows = (sql: string, ...values: unknown[]) => query(service.database, sql, [videoId, ...values])
  await rows(
    `insert into encodings (video_id, environment, state, plan, created_at) values ($1, 'production', 'encoding', $2, now())`,
    planned,
  )
  const { width, height } = planned.rungs.at(-1)!
  await rows('update all_videos set width = $2, height = $3 where id = $1', width, height)
  for (const { quality, height } of planned.rungs)
    await rows(
      `insert into renditions (video_id, type, quality, height, state) values ($1, 'hls', $2, $3, 'encoding')`,
      quality,
      height,
    )
  for (const rendition of started)
    await rows(
      `insert into segments (video_id, rendition, first_segment, sizes, key) values ($1, $2, 0, '{3000}', 'x')`,
      rendition,
    )
}

/** An upload of which nothing has arrived, and optionally a chunk that is being sent until then. */
async function insertSource(videoId: string, sendingUntil?: string): Promise<void> {
  const rows = (sql: string, ...values: unknown[]) => query(service.database, sql, [videoId, ...values])
  await rows(
    `insert into sources (video_id, form, handle, state, created_at, updated_at)
     values ($1, 'whole', 'x', 'receiving', now(), now())`,
  )
  if (sendingUntil)
    await rows(
      `insert into source_pieces (video_id, position, size, lease_owner, lease_until)
       values ($1, 0, 0, 'x', now() + $2::interval)`,
      sendingUntil,
    )
}

const addMp4 = (videoId: string) =>
  query(
    service.database,
    `insert into renditions (video_id, type, quality, height, state, key) values ($1, 'mp4', '1080p', 1080, 'encoded', 'x')`,
    [videoId],
  )
const addThumbnail = (videoId: string) =>
  query(
    service.database,
    `insert into pictures (video_id, thumbnail_key, sprites) values ($1, 'x', '{}')
     on conflict (video_id) do update set thumbnail_key = 'x', sprites = '{}'`,
    [videoId],
  )

async function readyVideo(attributes: object = {}): Promise<string> {
  const videoId = await createFilm(attributes)
  await insertEncoding(videoId, ['240p', 'sound'])
  await addMp4(videoId)
  await addThumbnail(videoId)
  return videoId
}

const page = (path: string) => call(`${service.url}${path}`, { key: '' })

/** Reads the configuration that the page contains for the player. */
function configIn({ text }: ApiResponse) {
  const [, json] = /<script type="application\/json" id="kinora">(.*?)<\/script>/s.exec(text) ?? []
  assert.ok(json, text)
  return JSON.parse(json)
}

const plainText = (text: string) =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')

/** Reads the values of all meta tags with this name, in order. */
const metaIn = ({ text }: ApiResponse, name: string) =>
  [...text.matchAll(/<meta (?:property|name)="([^"]*)" content="([^"]*)">/g)]
    .filter((match) => match[1] === name)
    .map((match) => plainText(match[2]!))

const titleIn = ({ text }: ApiResponse) => plainText(/<title>([^<]*)<\/title>/.exec(text)?.[1] ?? '')

describe('the player page', () => {
  test('contains the configuration of a playable video', async () => {
    const videoId = await readyVideo({ panoramic: true })
    const shown = await page(`/vod/${videoId}?metadata[user]=x&autoplay=1`)
    assert.equal(shown.status, 200)
    assert.equal(shown.headers.get('content-type'), 'text/html; charset=utf-8')
    assert.match(shown.text, /^<!doctype html>\n<html lang="en">/)
    const { theme, ...config } = configIn(shown)
    assert.deepEqual(config, {
      videoId,
      type: 'vod',
      state: 'ready',
      title: 'Film',
      isPanoramic: true,
      hls: `/vod/${videoId}/hls/manifest.m3u8`,
      self: `/vod/${videoId}/config.json`,
      mp4: `/vod/${videoId}/mp4/source.mp4`,
      poster: `/vod/${videoId}/thumbnail.jpg`,
      sprites: `/vod/${videoId}/sprites.vtt`,
      captions: [],
      chapters: [],
      durationSeconds: 10.01,
      encodedSeconds: { '240p': 2.002, '1080p': 0, sound: 2.002 },
      collector: '/collector/vod',
      isUploading: false,
      live: null,
    })
    assert.equal(theme.trackPlayed, 'rgba(88, 131, 255, .95)')
    assert.equal(theme.enableControls, true)
    assert.equal(theme.logo, null)
    assert.match(shown.text, new RegExp(`<noscript>.*href="/vod/${videoId}/mp4/source.mp4"`))
    assert.doesNotMatch(shown.text, /metadata|autoplay=/)

    const fetched = await page(`/vod/${videoId}/config.json`)
    assert.equal(fetched.headers.get('content-type'), 'application/json')
    assert.match(fetched.headers.get('cache-control') ?? '', /no-store/)
    assert.deepEqual(fetched.body, { ...config, theme })
    const again = await call(`${service.url}/vod/${videoId}`, {
      key: '',
      headers: { 'if-none-match': shown.headers.get('etag') ?? '' },
    })
    assert.equal(again.status, 304)
    assert.equal((await call(`${service.url}/sandbox/vod/${videoId}`, { key: '' })).status, 200)
  })

  test('loads existing scripts and styles, and its policy forbids all others', async () => {
    const shown = await page(`/vod/${await readyVideo()}`)
    const files = [...shown.text.matchAll(/(?:src|href)="(\/player\/[^"]*)"/g)].map(([, path]) => path!)
    assert.ok(
      files.some((file) => file.endsWith('.js')),
      shown.text,
    )
    for (const file of files) {
      const got = await page(file)
      assert.equal(got.status, 200, file)
      assert.match(got.headers.get('cache-control') ?? '', /immutable/)
    }
    const policy = shown.headers.get('content-security-policy') ?? ''
    assert.match(policy, /default-src 'none'/)
    assert.match(policy, /script-src 'self'(;|$)/)
    assert.match(policy, /base-uri 'none'/)
    assert.match(policy, /form-action 'none'/)
    assert.doesNotMatch(policy, /unsafe-eval|\*|https?:/)
    // Any page may embed the player.
    assert.equal(shown.headers.get('x-frame-options'), null)
    assert.doesNotMatch(policy, /frame-ancestors/)
    assert.equal(shown.headers.get('referrer-policy'), 'strict-origin')
    assert.equal(shown.headers.get('x-content-type-options'), 'nosniff')
    assert.doesNotMatch(shown.text, /\son\w+=|\sstyle=|<style|javascript:/i)
    assert.equal(shown.text.match(/<script/g)?.length, 2)
  })

  test('has the state of a video that is not playable, and is not cached', async () => {
    const empty = await createFilm()
    // Not a single byte was sent.
    const begun = await createFilm()
    await insertSource(begun)
    const uploading = await createFilm()
    await insertSource(uploading, '5 minutes')
    const abandoned = await createFilm()
    await insertSource(abandoned, '-5 minutes')
    const imported = await createFilm({ source: 'https://example.com/video.mp4' })
    const planned = await createFilm()
    await insertEncoding(planned, ['240p'])
    const failed = await createFilm()
    await insertEncoding(failed, [])
    await query(service.database, `update encodings set state = 'failed' where video_id = $1`, [failed])
    const unknown = `vi${'A'.repeat(22)}`
    for (const [path, status, state, title] of [
      [`/vod/${empty}`, 200, 'empty', 'Film'],
      [`/vod/${begun}`, 200, 'empty', 'Film'],
      [`/vod/${uploading}`, 200, 'processing', 'Film'],
      [`/vod/${abandoned}`, 200, 'empty', 'Film'],
      [`/vod/${imported}`, 200, 'processing', 'Film'],
      [`/vod/${planned}`, 200, 'processing', 'Film'],
      [`/vod/${failed}`, 200, 'failed', 'Film'],
      [`/vod/${unknown}`, 404, 'missing', ''],
      ['/vod/x', 404, 'missing', ''],
      ['/vod/%3Cscript%3E', 404, 'missing', ''],
      [`/live/li${'A'.repeat(22)}`, 404, 'missing', ''],
    ] as const) {
      const shown = await page(path)
      assert.equal(shown.status, status, path)
      assert.match(shown.headers.get('cache-control') ?? '', /no-store/, path)
      assert.equal(configIn(shown).state, state, path)
      assert.equal(configIn(shown).title, title, path)
      assert.ok(titleIn(shown), path)
      assert.match(shown.headers.get('content-security-policy') ?? '', /script-src 'self'/)
      if (!path.startsWith('/vod')) continue
      const fetched = await page(`${path}/config.json`)
      assert.equal(fetched.status, status, path)
      assert.deepEqual(fetched.body, configIn(shown), path)
    }
    // The video is playable without failed audio and without failed qualities.
    const quality = `update renditions set state = 'failed' where video_id = $1 and quality = '1080p'`
    await query(service.database, quality, [planned])
    await query(service.database, `update encodings set sound_failure = 'x' where video_id = $1`, [planned])
    assert.equal(configIn(await page(`/vod/${planned}`)).state, 'ready')
    await query(service.database, `update renditions set state = 'failed' where video_id = $1`, [planned])
    assert.equal(configIn(await page(`/vod/${planned}`)).state, 'failed')
  })

  test('has the theme of the video', async () => {
    const theme = { trackPlayed: 'hsl(10, 50%, 50%)', hideTitle: true, enableControls: false }
    const { body } = await call(`${service.url}/players`, { method: 'POST', json: theme })
    const videoId = await readyVideo({ playerId: body.playerId })
    const shown = configIn(await page(`/vod/${videoId}`)).theme
    assert.equal(shown.trackPlayed, theme.trackPlayed)
    assert.equal(shown.hideTitle, true)
    assert.equal(shown.enableControls, false)
    assert.equal(shown.text, 'rgba(255, 255, 255, 1)')
    assert.deepEqual([shown.logo, shown.logoLink], [null, null])
    await query(
      service.database,
      `update players set logo = '', logo_name = '0123456789abcdef.png', logo_link = 'https://example.com' where id = $1`,
      [body.playerId],
    )
    const { logo, logoLink } = configIn(await page(`/vod/${videoId}`)).theme
    assert.equal(logo, `/players/${body.playerId}/logo/0123456789abcdef.png`)
    assert.equal(logoLink, 'https://example.com')
  })

  test('escapes hostile texts', async () => {
    const title = `</title></script><script>alert(1)</script><!-- "'&amp; \u2028\u2029 ]]> <svg onload=x>`
    const description = '"><script>alert(2)</script>'
    const videoId = await readyVideo({ title, description })
    const shown = await page(`/vod/${videoId}`)
    assert.equal(configIn(shown).title, title)
    assert.equal(titleIn(shown), title)
    assert.deepEqual(metaIn(shown, 'og:title'), [title])
    assert.deepEqual(metaIn(shown, 'og:description'), [description])
    assert.doesNotMatch(shown.text, /alert\(\d\)<\/script>|<svg|<!--/)
    const json = /id="kinora">(.*?)<\/script>/s.exec(shown.text)?.[1] ?? ''
    assert.doesNotMatch(json, /[<>&\u2028\u2029]/)
    assert.equal(shown.text.match(/<script/g)?.length, 2)
    assert.equal(shown.text.match(/<\/script>/g)?.length, 2)
  })
})

describe('a private video', () => {
  let videoId = ''
  let player = ''
  const secret = 'Secret film of nobody'

  const playerUrl = async () => (await call(`${service.url}/videos/${videoId}`)).body.assets.player as string
  const open = async () => {
    videoId = await readyVideo({ title: secret, description: secret, public: false })
    player = await playerUrl()
  }

  test('is not revealed without a valid token', async () => {
    await open()
    for (const path of [`/vod/${videoId}`, `/vod/${videoId}?token=x`, `/vod/${videoId}?token=`]) {
      const shown = await page(path)
      assert.equal(shown.status, 403, path)
      const { state, title, hls, mp4, poster, theme } = configIn(shown)
      assert.deepEqual(
        { state, title, hls, mp4, poster },
        { state: 'private', title: '', hls: '', mp4: null, poster: null },
      )
      assert.equal(theme.logo, null)
      assert.doesNotMatch(shown.text, /Secret|og:|oembed|thumbnail|manifest/)
      assert.match(shown.headers.get('cache-control') ?? '', /private, no-store/)
      const fetched = await page(path.replace(videoId, `${videoId}/config.json`))
      assert.equal(fetched.status, 403)
      assert.doesNotMatch(fetched.text, /Secret/)
    }
    assertProblem(
      await page(`/oembed?url=${encodeURIComponent(`${service.url}/vod/${videoId}`)}`),
      401,
      'private-video-embed',
    )
  })

  test('plays with its token for one viewer and is not cached', async () => {
    await open()
    const shown = await call(player, { key: '' })
    assert.equal(shown.status, 200, shown.text)
    assert.equal(titleIn(shown), secret)
    assert.match(shown.headers.get('cache-control') ?? '', /private, no-store/)
    // There are no tags for link previews: a preview that opens the URL would use up the token.
    assert.doesNotMatch(shown.text, /og:|oembed|twitter:/)
    const { hls, mp4 } = configIn(shown)
    const token = new URL(player).searchParams.get('token')
    assert.ok(hls.startsWith(`/vod/${videoId}/token/${token}/hls/manifest.m3u8?avh=`), hls)
    assert.ok(mp4.startsWith(`/vod/${videoId}/token/${token}/mp4/source.mp4?avh=`), mp4)
    assert.equal((await call(player, { key: '' })).status, 403, 'another viewer is rejected')
    const session = new URL(hls, service.url).searchParams.get('avh')
    const again = await call(`${player}&avh=${session}`, { key: '' })
    assert.equal(again.status, 200)
    assert.equal(configIn(again).hls, hls)
  })

  test('does not use up its token before it is playable', async () => {
    videoId = await createFilm({ title: secret, public: false })
    player = await playerUrl()
    for (let i = 0; i < 2; i++) {
      const shown = await call(player, { key: '' })
      assert.equal(shown.status, 200)
      assert.equal(configIn(shown).state, 'empty')
      assert.equal(configIn(shown).hls, '')
    }
  })
})

describe('a link to the player page', () => {
  test('has meta tags for link previews with a player', async () => {
    const videoId = await readyVideo()
    const player = `${service.url}/vod/${videoId}`
    const shown = await page(`/vod/${videoId}`)
    const expected = {
      'og:type': ['video.other'],
      'og:title': ['Film'],
      'og:description': ['A film.'],
      'og:url': [player],
      'og:image': [`${player}/thumbnail.jpg`],
      'og:video': [player],
      'og:video:type': ['text/html', 'video/mp4'],
      'og:video:width': ['1920', '1920'],
      'og:video:height': ['1080', '1080'],
      'og:video:url': [`${player}/mp4/source.mp4`],
      'twitter:card': ['player'],
      'twitter:player': [player],
    }
    for (const [name, values] of Object.entries(expected)) assert.deepEqual(metaIn(shown, name), values, name)
    const [, link] =
      /<link rel="alternate" type="application\/json\+oembed" href="([^"]*)"/.exec(shown.text) ?? []
    const response = await call(plainText(link ?? ''), { key: '' })
    assert.equal(response.body.title, 'Film')
  })

  const oembed = (url: string, more = '') => page(`/oembed?url=${encodeURIComponent(url)}${more}`)
  let videoId = ''
  let player = ''
  const open = async (attributes: object = {}, planned = plan) => {
    videoId = await createFilm(attributes)
    await insertEncoding(videoId, ['240p', 'sound'], planned)
    await addThumbnail(videoId)
    player = `${service.url}/vod/${videoId}`
  }

  test('is turned into a player by oEmbed', async () => {
    await open({ title: '"><script>' })
    const { status, headers, body } = await oembed(`${player}?muted=1&metadata[a]=%22#t=30`)
    assert.equal(status, 200)
    assert.equal(headers.get('content-type'), 'application/json')
    assert.equal(headers.get('access-control-allow-origin'), '*')
    const { html, ...rest } = body
    assert.deepEqual(rest, {
      type: 'video',
      version: '1.0',
      title: '"><script>',
      provider_name: 'Kinora',
      provider_url: service.url,
      width: 1280,
      height: 720,
      thumbnail_url: `${player}/thumbnail.jpg`,
      thumbnail_width: 1280,
      thumbnail_height: 720,
    })
    assert.match(html, /^<iframe src="[^"]*" title="[^"]*" width="1280" height="720" [^>]*><\/iframe>$/)
    assert.ok(html.includes(`src="${player}?muted=1&amp;metadata[a]=%22#t=30"`), html)
    assert.doesNotMatch(html, /<script/)
  })

  test('is embedded within the maximum size in the aspect ratio of the video', async () => {
    await open()
    const size = async (more: string) => {
      const { body } = await oembed(player, more)
      return [body.width, body.height]
    }
    assert.deepEqual(await size('&maxwidth=640'), [640, 360])
    assert.deepEqual(await size('&maxheight=90'), [160, 90])
    assert.deepEqual(await size('&maxwidth=640&maxheight=90&format=json'), [160, 90])
    assert.deepEqual(await size('&maxwidth=1'), [1, 1])
    await open({}, { ...plan, rungs: [{ quality: '1080p', width: 1080, height: 1920, maxKbps: 1 }] })
    assert.deepEqual(await size(''), [720, 1280])
    // A 360° video fills a frame of any shape.
    await query(service.database, 'update all_videos set panoramic = true')
    assert.deepEqual(await size(''), [1280, 720])
  })

  test('of a live stream is turned into a player by oEmbed, unless it is private', async () => {
    const { body: stream } = await call(`${service.url}/live-streams`, {
      method: 'POST',
      json: { name: 'My show' },
    })
    const { liveStreamId, assets } = stream
    const shown = await page(`/live/${liveStreamId}`)
    const [, link] =
      /<link rel="alternate" type="application\/json\+oembed" href="([^"]*)"/.exec(shown.text) ?? []
    assert.equal(link, `${service.url}/oembed?url=${encodeURIComponent(assets.player)}`)
    const { html, ...rest } = (await oembed(`${assets.player}?muted=1`, '&maxwidth=640')).body
    assert.deepEqual(rest, {
      type: 'video',
      version: '1.0',
      title: 'My show',
      provider_name: 'Kinora',
      provider_url: service.url,
      width: 640,
      height: 360,
    })
    assert.ok(html.startsWith(`<iframe src="${assets.player}?muted=1" title="My show" width="640"`), html)

    const image = await readFile(new URL('../../server/playback/no-thumbnail.jpg', import.meta.url))
    await query(service.database, 'insert into live_thumbnails values ($1, $2)', [liveStreamId, image])
    const { body } = await oembed(assets.player)
    assert.equal(body.thumbnail_url, assets.thumbnail)
    assert.deepEqual([body.thumbnail_width, body.thumbnail_height], [1280, 720])

    await call(`${service.url}/live-streams/${liveStreamId}`, { method: 'PATCH', json: { public: false } })
    assertProblem(await oembed(assets.player), 401, 'private-video-embed')
  })

  test('is rejected by oEmbed with a reason if it does not lead to a video', async () => {
    await open()
    const invalidParameter = 'request-invalid-query-parameter'
    for (const url of [
      `${service.url}/vod/vi${'A'.repeat(22)}`,
      `${service.url}/vod/x`,
      `${player}/thumbnail.jpg`,
      `${service.url}/live/li${'A'.repeat(22)}`,
      player.replace('localhost', 'example.com'),
      player.replace('localhost', 'localhost.example.com'),
      player.replace('http://', 'http://example.com@127.0.0.1/'),
    ])
      assertProblem(await oembed(url), 404, 'resource-not-found', 'url')
    for (const url of ['', 'x', 'javascript:alert(1)', 'x'.repeat(3000)])
      assertProblem(await oembed(url), 400, invalidParameter, 'url')
    assertProblem(await page('/oembed'), 400, 'attribute-required', 'url')
    for (const [name, value] of [
      ['maxwidth', '0'],
      ['maxwidth', 'x'],
      ['maxheight', '-1'],
      ['format', 'yaml'],
    ] as const)
      assertProblem(await oembed(player, `&${name}=${value}`), 400, invalidParameter, name)
    assertProblem(await oembed(player, '&format=xml'), 501, 'format-not-implemented', 'format')
    assert.doesNotMatch(service.output(), /request failed/, 'an unsupported format is not logged as an error')
  })
})
