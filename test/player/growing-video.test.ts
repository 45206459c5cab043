import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { Browser, BrowserContext } from 'playwright-core'
import { launchBrowser, skip } from '../support/browser/browser.ts'
import { openPlayer } from '../support/browser/player-page.ts'
import { call, kinora, type Service, temporaryFolder, timeoutMs, waitFor } from '../support/harness.ts'
import { type GatedFfmpeg, gatedFfmpeg } from '../support/media/gated-ffmpeg.ts'
import { makeClip } from '../support/media/media.ts'
import { withoutThumbnails } from '../support/programs.ts'
import { media, uploadVideo, waitForEncoding } from '../support/videos.ts'

// The player while the qualities of a video are not equally long. The video is encoded, and the browser sees only a part
// of each quality.

const names = ['240p', '360p', '480p']
/** Where segments end. */
const ends = [1, 2, 4, 6, 8, 10, 14, 18, 22, 26]
const whole = ends.length
const wide = { width: 1280, height: 720 }
const small = { width: 640, height: 360 }

let gated: GatedFfmpeg
let service: Service
let browser: Browser | undefined
let clip: string
let clipId: string
let privateUrl: string
const closes: (() => unknown)[] = []

before(async () => {
  if (skip) return
  const folder = await temporaryFolder({ after })
  clip = join(folder, 'clip.mp4')
  gated = await gatedFfmpeg(folder, withoutThumbnails().KINORA_FFMPEG)
  browser = await launchBrowser()
  service = await kinora(
    { after: (close) => closes.push(close) },
    { KINORA_FFMPEG: gated.path, KINORA_COPY_SOURCES: 'off' },
  )
  await makeClip(clip, { size: '854x480', rate: '5', seconds: 26 })
  clipId = await uploadVideo(service, clip, { mp4Support: false })
  const privateId = await uploadVideo(service, clip, { mp4Support: false, public: false })
  await waitForEncoding(service, clipId)
  await waitForEncoding(service, privateId)
  const { pathname, search } = new URL((await call(`${service.url}/videos/${privateId}`)).body.assets.player)
  privateUrl = `${pathname}${search}`
})
after(async () => {
  await browser?.close()
  for (const close of closes) await close()
})

/** The number of segments of each quality, from the lowest. */
type Segments = number[]

/** While the file is uploaded, its duration may be unknown. */
type Shown = { segments: Segments; isUploading?: boolean }

/** Serves a part of each quality. All of them are served in full once the last of them is complete. */
async function showOnly(context: BrowserContext, state: Shown) {
  const isComplete = () => state.segments.every((count) => count === whole)
  const change = (config: Record<string, unknown>) => {
    if (state.isUploading) Object.assign(config, { isUploading: true, durationSeconds: null })
    const seconds = state.segments.map((count, index) => [names[index], count === 0 ? 0 : ends[count - 1]])
    config.encodedSeconds = isComplete() ? null : { ...Object.fromEntries(seconds), sound: 26 }
    return JSON.stringify(config)
  }
  await context.route(/\/vod\/[^/?]+(\?|$)/, async (route) => {
    const response = await route.fetch()
    const [before, config, ...rest] = (await response.text()).split(/(?<=id="kinora">)(.*?)(?=<\/script>)/s)
    await route.fulfill({ response, body: `${before}${change(JSON.parse(config!))}${rest.join('')}` })
  })
  await context.route(/\/config\.json/, async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, body: change(await response.json()) })
  })
  await context.route(/\/hls\/\d+p\/manifest\.m3u8/, async (route) => {
    const response = await route.fetch()
    const name = /(\d+p)\/manifest/.exec(route.request().url())![1]!
    const count = state.segments[names.indexOf(name)]!
    if (count === 0) return route.fulfill({ status: 404 })
    const text = await response.text()
    const lines = text.split('\n')
    const last = lines.indexOf(lines.find((line) => line.startsWith(`video-${count - 1}.`))!)
    const growing = `${lines.slice(0, last + 1).join('\n')}\n`.replace('TYPE:VOD', 'TYPE:EVENT')
    await route.fulfill({ response, body: count === whole ? text : growing })
  })
}

async function open(
  t: TestContext,
  segments: Segments,
  { path = `/vod/${clipId}`, options = '', size = wide, isUploading = false } = {},
) {
  const context = await browser!.newContext({ viewport: size })
  t.after(async () => {
    await context.unrouteAll({ behavior: 'ignoreErrors' })
    await context.close()
  })
  const state: Shown = { segments, isUploading }
  await showOnly(context, state)
  const player = await openPlayer(t, browser!, `${service.url}${path}${options}`, { context })
  return {
    ...player,
    /** The segments that were loaded: `240p 0`. */
    loaded: () =>
      player.media.flatMap((url) => {
        const [, name, index] = /\/(\d+p)\/video-(\d+)\.m4s/.exec(url) ?? []
        return name ? [`${name} ${index}`] : []
      }),
    /** Encodes more of the video, and waits until the player knows it. */
    async grow(next: Segments, isUploading = false) {
      Object.assign(state, { segments: next, isUploading })
      // The response to an earlier request may still be on its way.
      for (const _ of [1, 2]) await player.page.waitForRequest(/\/config\.json/, { timeout: timeoutMs })
    },
    /** The qualities in the menu, and the selected one. */
    menu: () =>
      player.evaluate<string[]>(
        `[...video.videoRenditions].map(({ height }) => height + 'p' + (video.videoRenditions.selected?.height === height ? '*' : ''))`,
      ),
  }
}

/** The minimum makes the player want this quality, however busy the machine is. */
const autoplay = (height: number) => `autoplay=true&muted=true#min-quality:${height}`

describe('while a video is being encoded, the player', { skip }, () => {
  test('starts with the lowest quality, and switches up by itself', async (t) => {
    const player = await open(t, [whole, 0, 0], { options: `?${autoplay(480)}` })
    await player.until('video.currentTime > 1 && video.videoHeight === 240 && (video.pause(), true)')
    assert.deepEqual(await player.menu(), ['240p'])
    await player.grow([whole, 9, whole])
    await player.until('[...video.videoRenditions].length === 3')
    await player.evaluate('video.play()')
    await player.until('video.videoHeight === 480')
    await player.evaluate('(video.playbackRate = 4)')
    await player.until('video.ended')
    assert.deepEqual(player.errors, [])
    assert.equal(await player.evaluate(`document.querySelector('.notice').textContent`), '')
  })

  test('never loads a quality that is not encoded far enough, and falls back in time', async (t) => {
    const player = await open(t, [whole, 6, 0], { options: `?${autoplay(480)}` })
    await player.until('video.currentTime > 0.5')
    await player.evaluate('(video.playbackRate = 4)')
    await player.until('video.ended')
    assert.deepEqual(player.loaded(), [
      ...['360p 0', '360p 1', '360p 2', '360p 3', '360p 4', '360p 5'],
      ...['240p 6', '240p 7', '240p 8', '240p 9'],
    ])
  })

  test('plays a higher quality where no lower one is encoded, and seeks into it', async (t) => {
    const player = await open(t, [6, 2, whole], { options: `?${autoplay(360)}`, size: small })
    await player.until('video.currentTime > 0.5')
    await player.evaluate('(video.playbackRate = 4)')
    await player.until('video.ended')
    const loaded = player.loaded()
    assert.deepEqual(loaded.slice(-4), ['480p 6', '480p 7', '480p 8', '480p 9'])
    assert.ok(loaded.includes('240p 5'), loaded.join())
    const other = await open(t, [6, 2, whole], { options: '#min-quality:360', size: small })
    await other.until('video.readyState >= 2')
    assert.equal(await other.evaluate('document.querySelector(".processing")'), null)
    const bar = (await other.page.locator('media-time-range').boundingBox())!
    await other.page.mouse.click(bar.x + bar.width * 0.8, bar.y + bar.height / 2)
    await other.until('video.currentTime > 20 && video.readyState >= 2 && video.videoHeight === 480')
    assert.deepEqual(await other.menu(), ['480p'])
  })

  test('keeps the choice of the viewer, and falls back where it is not encoded yet', async (t) => {
    const player = await open(t, [whole, whole, 4])
    await player.until('video.readyState >= 2')
    assert.deepEqual(await player.menu(), ['240p', '360p', '480p'])
    await player.evaluate('(video.videoRenditions.selectedIndex = 2, video.muted = true, video.play())')
    await player.until('video.currentTime > 0.2 && (video.pause(), true)')
    await waitFor(() => player.loaded().includes('360p 4'))
    await player.evaluate('(video.currentTime = 7)')
    await player.until('video.readyState >= 2 && video.videoHeight === 360')
    assert.deepEqual(await player.menu(), ['240p', '360p', '480p*'])
    await player.grow([whole, whole, whole])
    await player.evaluate('video.play()')
    await player.until('video.videoHeight === 480')
    assert.deepEqual(await player.menu(), ['240p', '360p', '480p*'])
    assert.ok(!player.loaded().includes('480p 4'), player.loaded().join())
  })

  test('waits at the end of what is encoded, and continues by itself', async (t) => {
    const player = await open(t, [4, 2, 0], { options: `?${autoplay(480)}` })
    const notice = `document.querySelector('.notice')?.textContent`
    const first = 'Playable up to 0:06 so far'
    await player.until(`video.currentTime > 5.5 && ${notice} === '${first}'`)
    assert.equal(await player.evaluate('video.paused'), false)
    await player.grow([7, 4, 0])
    await player.until(`video.currentTime > 6.5 && ${notice} !== '${first}'`)
    await player.grow([whole, whole, whole])
    await player.evaluate('(video.playbackRate = 4)')
    await player.until('video.ended')
    assert.ok(
      player.loaded().some((segment) => segment.startsWith('480p')),
      player.loaded().join(),
    )
  })

  test('plays a file of unknown length while it is uploaded, from the beginning to the end', async (t) => {
    const player = await open(t, [4, 4, 2], { options: `?${autoplay(360)}`, isUploading: true })
    const notice = `document.querySelector('.notice')?.textContent`
    const duration = `Number(document.querySelector('media-controller').getAttribute('mediaduration'))`
    const first = 'Still uploading, playable up to 0:06 so far'
    await player.until(`video.currentTime > 5.5 && ${notice} === '${first}' && ${duration} === 6`)
    assert.ok(
      player.loaded().some((segment) => segment.endsWith(' 0')),
      player.loaded().join(),
    )
    assert.deepEqual(await player.evaluate('[video.paused, video.ended]'), [false, false])
    await player.grow([7, 7, 4], true)
    // It may have played everything again.
    await player.until(`video.currentTime > 6.5 && ${notice} !== '${first}' && ${duration} === 14`)
    // A seek ends where the video ends so far.
    await player.page.keyboard.press('End')
    await player.until('video.currentTime > 12.5 && video.currentTime <= 14')
    await player.grow([whole, whole, whole])
    await player.until(`${duration} === 26`)
    await player.evaluate('(video.playbackRate = 4)')
    await player.until('video.ended')
    assert.deepEqual(player.errors, [])
  })

  test('plays a private video in the same way', async (t) => {
    const player = await open(t, [whole, 6, 0], { path: privateUrl, options: `&${autoplay(480)}` })
    await player.until('video.currentTime > 0.5')
    await player.evaluate('(video.playbackRate = 4)')
    await player.until('video.ended')
    assert.deepEqual(player.loaded().slice(5, 7), ['360p 5', '240p 6'])
    assert.ok(player.media.some((url) => /manifest\.m3u8\?.+&qualities=all$/.test(url)))
  })
})

test('all planned qualities are listed on request, and the player knows how far they are encoded', async (t) => {
  t.after(gated.encodeAll)
  await gated.encodeUntil(0)
  const id = await uploadVideo(service, clip, { mp4Support: false })
  await waitFor(
    async () => (await call(`${service.url}/videos/${id}/status`)).body.encoding.qualities.length > 0,
  )
  assert.equal((await media(service.url, id, 'hls/manifest.m3u8?qualities=all')).status, 202)
  await gated.encodeUntil(1)
  const list = async (query = '') => (await media(service.url, id, `hls/manifest.m3u8${query}`)).text
  const configOf = async () => (await call(`${service.url}/vod/${id}/config.json`)).body
  // The other qualities may begin first.
  await waitFor(async () => (await configOf()).encodedSeconds?.['240p'] > 0)
  const all = await list('?qualities=all')
  assert.deepEqual(all.match(/^\d+p(?=\/manifest)/gm), names)
  assert.equal(all.match(/CODECS="avc1\.\w+,mp4a\.40\.2"/g)?.length, 3)
  const config = await configOf()
  assert.deepEqual(Object.keys(config.encodedSeconds), [...names, 'sound'])
  const page = await call(`${service.url}/vod/${id}`)
  assert.ok(
    page.text.includes(`href="${config.hls}?qualities=all"`),
    'the page preloads what the player loads',
  )
  await gated.encodeAll()
  await waitForEncoding(service, id)
  assert.equal(await list('?qualities=all'), await list())
  assert.equal((await configOf()).encodedSeconds, null)
})
