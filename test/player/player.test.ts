import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { launchBrowser, servePages, skip } from '../support/browser/browser.ts'
import { eventsIn, focused, openPlayer, type View } from '../support/browser/player-page.ts'
import { call, kinora, query, type Service, sendFile, temporaryFolder, waitFor } from '../support/harness.ts'
import { type GatedFfmpeg, gatedFfmpeg } from '../support/media/gated-ffmpeg.ts'
import { makeClip } from '../support/media/media.ts'
import { withoutThumbnails } from '../support/programs.ts'
import { assertEncoded, createVideo, uploadVideo, waitForEncoding } from '../support/videos.ts'

// The embedded player page in a real browser.

const clipSeconds = 6
const clipRate = 10
const budgetBytes = 200 * 1024
const viewport = { width: 640, height: 360 }

let folder: string
let gated: GatedFfmpeg
let service: Service
let browser: Browser | undefined
let clip: string
let clipId: string
/** A video of a minute. */
let longId: string
let privateUrl: string
let brokenId: string
const ends: (() => unknown)[] = []

before(async () => {
  if (skip) return
  folder = await temporaryFolder({ after })
  clip = join(folder, 'clip.mp4')
  gated = await gatedFfmpeg(folder, withoutThumbnails().KINORA_FFMPEG)
  browser = await launchBrowser()
  service = await kinora({ after: (end) => ends.push(end) }, { KINORA_FFMPEG: gated.path })
  await makeClip(clip, { size: '640x360', rate: String(clipRate), seconds: clipSeconds })
  const metadata = [{ key: 'user', value: '__user__' }]
  clipId = await uploadVideo(service, clip, { title: 'A <b>clip</b>', metadata })
  const long = join(folder, 'long.mp4')
  await makeClip(long, { size: '160x90', rate: '5', seconds: 60 })
  longId = await uploadVideo(service, long, { mp4Support: false })
  const privateId = await uploadVideo(service, clip, { public: false, mp4Support: false })
  brokenId = await uploadVideo(service, join(folder, 'ffmpeg'))
  await assertEncoded(service, clipId, ['hls 240p', 'hls 360p', 'mp4 360p'])
  await waitForEncoding(service, longId)
  await waitForEncoding(service, privateId)
  // Each read of a private video returns URLs with a new token.
  const { pathname, search } = new URL((await call(`${service.url}/videos/${privateId}`)).body.assets.player)
  privateUrl = `${service.url}${pathname}${search}`
})
after(async () => {
  await browser?.close()
  for (const end of ends) await end()
})

/** Expressions for the text of the controls and of the notice, and for the URL of the poster. */
const times = `document.querySelector('media-time-display')?.shadowRoot.querySelector('slot').textContent.replaceAll('\u00a0', ' ')`
const notice = `document.querySelector('.notice')?.textContent`
const poster = `document.querySelector('.poster').getAttribute('src')`

/** Runs in the page before its scripts. */
const recordFirstFrame = `new MutationObserver((_, observer) => {
  const video = document.querySelector('video')
  if (!video) return
  observer.disconnect()
  video.requestVideoFrameCallback((now) => { window.firstFrameMs = now })
}).observe(document, { childList: true, subtree: true })`

const open = (t: TestContext, path: string, view: View = {}) =>
  openPlayer(t, browser!, path.startsWith('http') ? path : `${service.url}/vod/${path}`, view)

describe('the player', { skip }, () => {
  test('plays to the end after a click and reports it, and a replay is not another play', async (t) => {
    const { page, until, evaluate, pings, errors } = await open(
      t,
      `${clipId}?metadata[user]=é+100%&&metadata[other]=x`,
    )
    await until('video.readyState > 0')
    await page.click('.big')
    await until('video.currentTime > 0.5')
    assert.equal(await evaluate('video.muted'), false)
    assert.ok((await evaluate<number>('video.webkitAudioDecodedByteCount')) > 0, 'no audio was decoded')
    await evaluate('(video.playbackRate = 3)')
    await until('video.ended')
    assert.ok(Math.abs((await evaluate<number>('video.currentTime')) - clipSeconds) < 0.1)
    await page.getByRole('button', { name: 'replay' }).waitFor()
    assert.equal(await page.locator('.big .replay').isVisible(), true)
    // Slow enough to be paused before the end.
    await evaluate('(video.playbackRate = 0.5)')
    await page.click('.big')
    await until('!video.paused && video.currentTime < 5 && (video.pause(), true)')
    // The seek to the start may end after the pause.
    const events = () => eventsIn(pings).filter((type) => type !== 'progress' && !type.startsWith('seek'))
    await waitFor(() => events().at(-1) === 'pause')
    assert.deepEqual(events(), ['ready', 'play', 'end', 'resume', 'pause'])
    assert.deepEqual(pings[0]?.session.metadata, [{ user: 'é+100%' }, { other: 'x' }])
    const [first, ...others] = pings.map(({ session }) => session.session_id)
    assert.equal(first, undefined)
    assert.match(others.at(-1) ?? '', /^ps/)
    assert.equal(new Set(others).size, 1, 'all reports belong to one session')
    assert.deepEqual(errors, [])
    // The analytics contain only the metadata key that the video declares.
    const filter = `metadata[user]=${encodeURIComponent('é+100%')}`
    let sessions = await call(`${service.url}/analytics/videos/${clipId}?${filter}`)
    await waitFor(
      async () => {
        sessions = await call(`${service.url}/analytics/videos/${clipId}?${filter}`)
        return sessions.body.data[0]?.watch.seconds > 1
      },
      () => sessions.text,
    )
    assert.equal(sessions.body.data.length, 1, sessions.text)
    const [{ session }] = sessions.body.data
    assert.deepEqual(session.metadata, [{ key: 'user', value: 'é+100%' }])
    assert.equal(session.sessionId, others.at(-1))
    const values = await call(`${service.url}/analytics/metadata/user?videoId=${clipId}`)
    assert.deepEqual(
      values.body.data.map(({ value, plays }: { value: string; plays: number }) => [value, plays]),
      [['é+100%', 1]],
    )
    assert.equal(await page.title(), 'A <b>clip</b>')
    assert.equal(await page.textContent('.title'), 'A <b>clip</b>')
  })

  test('seeks on a click on the progress bar and changes the quality by the menu', async (t) => {
    const { page, until, evaluate, pings } = await open(t, clipId)
    await until('video.readyState >= 2')
    await evaluate(
      `(window.heights = []) && video.addEventListener('resize', () => heights.push(video.videoHeight))`,
    )
    await page.click('.big')
    for (const [quality, height] of [
      ['240p', 240],
      ['360p', 360],
    ] as const) {
      await evaluate('video.play()')
      await until('video.currentTime > 0.1')
      await evaluate('video.pause()')
      await page.click('media-settings-menu-button')
      await page.getByRole('menuitem', { name: 'Quality' }).click()
      await page.getByRole('menuitemradio', { name: quality, exact: true }).click()
      await page.keyboard.press('Escape')
      // The quality changes with the second segment, at 2 s. Paused, because on a busy machine the video could end before
      // the new quality loads. A paused video shows the new quality after a seek.
      await until(
        `(video.seeking || (video.currentTime = 2.2 + Math.random()), video.videoHeight === ${height})`,
      )
      await evaluate('(video.currentTime = 0)')
    }
    const bar = (await page.locator('media-time-range').boundingBox())!
    await page.mouse.click(bar.x + bar.width / 2, bar.y + bar.height / 2)
    await until('video.currentTime >= 2.9 && video.currentTime < 6')
    const { page: other, until: untilOther } = await open(t, `${clipId}#max-quality:240`, {
      width: 1280,
      height: 720,
    })
    await other.click('.big')
    await untilOther('video.currentTime > 0.5 && video.videoHeight === 240')
    await waitFor(() => eventsIn(pings).includes('seek.backward'))
  })

  test('waits for a video that is being processed and plays it while it is being encoded', async (t) => {
    const source = join(folder, 'growing.mp4')
    await makeClip(source, { size: '180x320', rate: '10', seconds: 10 })
    t.after(gated.encodeAll)
    await gated.encodeUntil(1)
    const id = await createVideo(service, { mp4Support: false })
    const { page, until, statusScreen, evaluate } = await open(t, `${id}?autoplay=true&muted=true`)
    await statusScreen('empty')
    const sent = await sendFile(`${service.url}/videos/${id}/source`, await readFile(source))
    assert.equal(sent.status, 201, sent.text)
    // Paused, so that the position stays.
    await until('video && video.currentTime > 0.5 && (video.pause(), true)')
    const { encoding } = (await call(`${service.url}/videos/${id}/status`)).body
    assert.ok(encoding.qualities.every(({ status }: { status: string }) => status !== 'encoded'))
    assert.ok((await evaluate<number>('video.played.start(0)')) < 0.5, 'playback starts at 0')

    // The size is known as soon as the source has been examined.
    const { assets } = (await call(`${service.url}/videos/${id}`)).body
    assert.match(assets.iframe, /style="aspect-ratio: 9 \/ 16; border: 0"/)

    // The controls show the entire video, and a seek beyond what is encoded says how much of it can be played.
    await evaluate('(video.currentTime = 0.7)')
    await until(`${times} === '0:00 / 0:10' && ${notice} === ''`)
    const bar = (await page.locator('media-time-range').boundingBox())!
    await page.mouse.click(bar.x + bar.width * 0.8, bar.y + bar.height / 2)
    await until(`${notice} === 'Playable up to 0:01 so far'`)
    assert.ok((await evaluate<number>('video.currentTime')) <= 1)
    // In a context of its own, because the cache of the first has the segments.
    const context = await browser!.newContext({ viewport })
    t.after(() => context.close())
    const idle = await open(t, id, { context })
    await idle.until(`video?.readyState >= 2 && ${times} === '0:00 / 0:10'`)

    await gated.encodeAll()
    await evaluate('video.play()')
    await until(`video.currentTime > 2.5 && ${notice} === ''`)
    assert.equal(await evaluate(`document.querySelector('.processing')`), null)
    await evaluate('(video.playbackRate = 8)')
    await until('video.ended')
    assert.ok(Math.abs((await evaluate<number>('video.currentTime')) - 10) < 0.1)
    await until(`${times} === '0:10 / 0:10'`)
    // The sprites are made after the end of the encoding.
    await idle.until(`${poster} !== null && document.querySelector('track[label=thumbnails]') !== null`)
    assert.equal(await idle.evaluate(times), '0:00 / 0:10')

    // A video that is not playable any more is not a lost connection.
    await call(`${service.url}/videos/${id}`, { method: 'PATCH', json: { public: false } })
    await idle.page.click('.big')
    await idle.statusScreen('private')
    await call(`${service.url}/videos/${id}`, { method: 'PATCH', json: { public: true } })
    await idle.page.reload()
    await idle.until('video?.readyState >= 2')
    await call(`${service.url}/videos/${id}`, { method: 'DELETE' })
    await idle.page.click('.big')
    await idle.statusScreen('missing')
  })

  test('the iframe of a video has its shape in any page', async (t) => {
    const portrait = await createVideo(service)
    await query(service.database, 'update all_videos set width = 360, height = 640 where id = $1', [portrait])
    const iframes = await Promise.all(
      [clipId, portrait].map(
        async (id) => (await call(`${service.url}/videos/${id}`)).body.assets.iframe as string,
      ),
    )
    const pages = await servePages((_, response) => {
      response.setHeader('content-type', 'text/html')
      response.end(`<!doctype html><title>Page</title><body style="margin: 0">${iframes.join('\n')}`)
    })
    t.after(() => pages.close())
    const page = await browser!.newPage({ viewport: { width: 800, height: 600 } })
    t.after(() => page.close())
    const warnings: string[] = []
    page.on('console', (message) => warnings.push(message.text()))
    await page.goto(pages.url)
    const sizes = await page.evaluate(
      `[...document.querySelectorAll('iframe')].map(({ offsetWidth, offsetHeight }) => [offsetWidth, offsetHeight])`,
    )
    // Without the scroll bar, which the portrait video causes.
    const width = await page.evaluate<number>('document.documentElement.clientWidth')
    assert.deepEqual(sizes, [
      [width, Math.round((width * 9) / 16)],
      [width, Math.round((width * 16) / 9)],
    ])
    assert.deepEqual(warnings, [])
  })

  test('reconnects by itself after the network or the server was gone', async (t) => {
    const context = await browser!.newContext({ viewport })
    t.after(() => context.close())
    const { page, until, evaluate } = await open(t, clipId, { context })
    await until('video.readyState >= 2')
    await context.setOffline(true)
    await page.click('.big')
    await until(`${notice} === 'Reconnecting…'`)
    await context.setOffline(false)
    await until(`video.currentTime > 2.5 && ${notice} === ''`)

    // Requests fail, but the browser is online: the server is gone.
    await evaluate('video.pause()')
    let failures = 0
    await context.route(/\/hls\//, (route) => {
      failures++
      return route.abort('connectionrefused')
    })
    await page.reload()
    await page.click('.big')
    await until(`${notice} === 'Reconnecting…'`)
    for (let i = 0; i < 6; i++) {
      const before = failures
      await evaluate(`dispatchEvent(new Event('online'))`)
      await waitFor(() => failures > before)
    }
    assert.equal(await page.locator('.status-screen').count(), 0)
    await context.unroute(/\/hls\//)
    await evaluate(`dispatchEvent(new Event('online'))`)
    await until(`video.currentTime > 2.5 && ${notice} === ''`)
  })

  test('a browser that plays HLS itself reconnects as well', async (t) => {
    const context = await browser!.newContext({ viewport })
    t.after(() => context.close())
    await context.addInitScript({ content: 'delete window.MediaSource; delete window.ManagedMediaSource' })
    await context.route(/\/hls\//, (route) => route.abort('connectionrefused'))
    const { page, until, evaluate } = await open(t, clipId, { context })
    await until('video?.error !== null')
    await page.click('.big')
    await until(`${notice} === 'Reconnecting…'`)
    await context.unroute(/\/hls\//)
    await evaluate(`dispatchEvent(new Event('online'))`)
    await until(`video.currentTime > 0.5 && ${notice} === ''`)
    assert.equal(await page.locator('.status-screen').count(), 0)
  })

  test('every control can be reached and used with the keyboard', async (t) => {
    // On a busy machine the video would end before the test sees that it plays.
    const { page, until, evaluate } = await open(t, `${clipId}#loop`, { width: 1280, height: 720 })
    await until('video.readyState >= 2')
    const order: string[] = []
    for (let i = 0; i < 20; i++) {
      await page.keyboard.press('Tab')
      const name = await evaluate<string>(focused)
      if (order.includes(name)) break
      order.push(name)
      // The focused element has a focus ring and a label for screen readers.
      const style = await evaluate<{ ring: string; label: string }>(`(() => {
        let element = document.activeElement
        const label = element.ariaLabel ?? element.getAttribute('aria-label') ?? element.shadowRoot?.activeElement?.ariaLabel ?? ''
        const { boxShadow, outlineStyle } = getComputedStyle(element)
        return { ring: boxShadow + outlineStyle, label }
      })()`)
      if (name !== 'body') {
        assert.notEqual(style.ring, 'nonenone', `${name} shows no focus`)
        assert.notEqual(style.label, '', `${name} has no label`)
      }
    }
    assert.deepEqual(
      order.filter((name) => name !== 'body'),
      [
        'media-time-range',
        'media-play-button.play',
        'media-seek-backward-button',
        'media-seek-forward-button',
        'media-mute-button',
        'media-volume-range',
        'media-settings-menu-button',
        'a.button',
        'media-pip-button',
        'media-fullscreen-button',
      ],
    )
    const focus = (name: string) => evaluate(`document.querySelector('${name}').focus()`)
    await focus('.play')
    await page.keyboard.press('Enter')
    // Until the button knows that the video plays, another key would start it again.
    await until(`!video.paused && !document.activeElement.hasAttribute('mediapaused')`)
    await page.keyboard.press('Space')
    await until('video.paused')
    await focus('media-time-range')
    await page.keyboard.press('ArrowRight')
    await until('video.currentTime > 2')
    await focus('media-mute-button')
    await page.keyboard.press('Enter')
    await until(`video.muted && document.activeElement.getAttribute('mediavolumelevel') === 'off'`)
    await page.keyboard.press('m')
    await until('!video.muted')
    await focus('media-settings-menu-button')
    await page.keyboard.press('Enter')
    await until(`${focused} === 'media-settings-menu-item'`)
    await page.keyboard.press('Enter')
    await until(`${focused} === 'media-playback-rate-menu'`)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await until('video.playbackRate !== 1')
    await page.keyboard.press('Escape')
    await focus('media-fullscreen-button')
    await page.keyboard.press('Enter')
    await until(
      `document.fullscreenElement !== null && document.activeElement.hasAttribute('mediaisfullscreen')`,
    )
    await page.keyboard.press('f')
    await until('document.fullscreenElement === null')
  })

  test('keyboard shortcuts work without focus, unless they are turned off', async (t) => {
    const { page, until } = await open(t, `${clipId}#loop`)
    await until('video.readyState >= 2')
    await page.keyboard.press('k')
    await until('!video.paused')
    const other = await open(t, `${clipId}#hotkeys:false`)
    await other.until('video.readyState >= 2')
    await other.page.keyboard.press('k')
    await other.page.keyboard.press('m')
    assert.deepEqual(await other.evaluate('[video.paused, video.muted]'), [true, false])
  })

  test('keys jump to a share of the video and step by frames while it is paused', async (t) => {
    const { page, until, evaluate } = await open(t, clipId)
    await until('video.readyState >= 2')
    for (const [key, seconds] of [
      ['5', 3],
      ['End', clipSeconds],
      ['Home', 0],
      ['9', 5.4],
    ] as const) {
      await page.keyboard.press(key)
      await until(`Math.abs(video.currentTime - ${seconds}) < 0.01`)
    }
    await evaluate('(video.currentTime = 2)')
    for (const [key, frame] of [
      ['.', 2 * clipRate + 1],
      ['.', 2 * clipRate + 2],
      [',', 2 * clipRate + 1],
    ] as const) {
      await page.keyboard.press(key)
      await until(`Math.floor(video.currentTime * ${clipRate}) === ${frame}`)
    }
  })

  test('the arrows move by 10 seconds and change the volume wherever the viewer has clicked', async (t) => {
    const { page, until, evaluate } = await open(t, longId, { width: 1280, height: 720 })
    await until('video.readyState >= 2')
    /** The controls know it, too, so that the next key continues there. */
    const shown = (name: string, value: number) =>
      `Math.abs(document.querySelector('media-controller').getAttribute('media${name}') - ${value}) < 0.001`
    const isAt = (seconds: number) => `video.currentTime === ${seconds} && ${shown('currenttime', seconds)}`
    const press = async (key: string, condition: string) => {
      await page.keyboard.press(key)
      await until(condition)
    }
    const timeline = (await page.locator('media-time-range').boundingBox())!
    const middle = { position: { x: timeline.width / 2, y: timeline.height / 2 } }
    for (const control of ['.play', 'media-mute-button', 'media-seek-forward-button', 'media-time-range']) {
      await page.click(control, control === 'media-time-range' ? middle : {})
      await evaluate('(video.pause(), video.muted = false, video.volume = 0.5, video.currentTime = 20)')
      await until(`${isAt(20)} && ${shown('volume', 0.5)}`)
      await press('ArrowRight', isAt(30))
      await press('ArrowLeft', isAt(20))
      await press('ArrowUp', shown('volume', 0.6))
      await press('ArrowDown', shown('volume', 0.5))
      assert.equal(await evaluate('video.currentTime'), 20, control)
    }
    // The volume slider keeps its own keys.
    await page.focus('media-mute-button')
    await press('Tab', `${focused} === 'media-volume-range'`)
    await press('ArrowRight', 'video.volume > 0.505')
    assert.equal(await evaluate('video.currentTime'), 20)

    const other = await open(t, `${longId}#hotkeys:false`, { width: 1280, height: 720 })
    await other.until('video.readyState >= 2')
    await other.page.click('media-time-range', middle)
    for (const [key, seconds] of [
      ['ArrowRight', 40],
      ['ArrowDown', 30],
    ] as const) {
      await other.page.keyboard.press(key)
      await other.until(`Math.abs(video.currentTime - ${seconds}) < 1`)
    }
  })

  test('a seek is reported although the next one begins before it has ended', async (t) => {
    const { page, until, evaluate, pings } = await open(t, longId)
    await until('video.readyState >= 2')
    const held: (() => Promise<void>)[] = []
    await page.route(/\.m4s/, (route) => void held.push(() => route.continue()))
    await page.click('.big')
    await until('video.currentTime > 0.5 && (video.pause(), true)')
    const seek = (seconds: number) =>
      evaluate(`new Promise((next) => {
        video.addEventListener('seeking', () => next(), { once: true })
        video.currentTime = ${seconds}
      })`)
    await seek(40)
    await seek(20)
    await page.unroute(/\.m4s/)
    // A seek cancels what the previous one has requested.
    for (const release of held) await release().catch(() => {})
    await until('!video.seeking && (video.play(), true)')
    const seeks = () => pings.flatMap(({ events }) => events).filter(({ type }) => type.startsWith('seek'))
    await waitFor(() => eventsIn(pings).includes('resume'))
    assert.deepEqual(
      seeks().map(({ type, to }) => [type, to]),
      [
        ['seek.forward', 40],
        ['seek.backward', 20],
      ],
    )
    assert.equal(seeks()[1]?.from, 40)
  })

  test('the video fills a frame of almost the same shape, without a black line', async (t) => {
    const { page, until } = await open(t, clipId, { width: 854, height: 480 })
    await until(`video && getComputedStyle(video).objectFit === 'cover'`)
    await page.setViewportSize({ width: 854, height: 600 })
    await until(`getComputedStyle(video).objectFit === 'contain'`)
  })

  test('a double-click goes full screen and back without interrupting the video', async (t) => {
    const { page, until, evaluate } = await open(t, `${clipId}#loop`)
    await until('video.readyState >= 2')
    // The first click on the large button starts the video, and the button disappears.
    await page.locator('.big').dblclick()
    await until('document.fullscreenElement !== null')
    assert.equal(await evaluate('video.paused'), false)
    await page.mouse.dblclick(200, 120)
    await until('document.fullscreenElement === null')
    assert.equal(await evaluate('video.paused'), false)
    await page.mouse.click(200, 120)
    await until('video.paused')
  })

  test('on a phone, a tap starts the video, further taps at a side skip, and targets are large', async (t) => {
    const context = await browser!.newContext({
      viewport: { width: 390, height: 219 },
      hasTouch: true,
      isMobile: true,
    })
    t.after(() => context.close())
    const { page, until, evaluate } = await open(t, `${clipId}#loop`, { context })
    await until('video.readyState >= 2')
    const small = await evaluate(`[...document.querySelectorAll('[data-control], media-mute-button')]
      .filter((each) => each.checkVisibility() && !/span|display|menu$|item/.test(each.localName))
      .map((each) => [each.localName, each.getBoundingClientRect()])
      .filter(([, { width, height }]) => width < 44 || height < 44).map(([name]) => name)`)
    assert.deepEqual(small, [])
    for (const name of ['seek back 10 seconds', 'seek forward 10 seconds'])
      assert.equal(await page.getByRole('button', { name }).isVisible(), true)
    await page.touchscreen.tap(195, 60)
    // Until then, each tap would start the video again.
    await until(`!video.paused && document.querySelector('[mediahasplayed]') !== null`)
    await evaluate('video.pause()')
    // Dispatched in the page, because taps through the protocol may be too far apart.
    const taps = (x: number, count: number) =>
      evaluate<string>(`(() => {
        const init = { pointerType: 'touch', clientX: ${x}, clientY: 60, bubbles: true, composed: true }
        for (let i = 0; i < ${count}; i++)
          for (const type of ['pointerdown', 'pointerup', 'click'])
            video.dispatchEvent(new PointerEvent(type, init))
        return document.querySelector('.skip-hint').textContent
      })()`)
    await evaluate('(video.currentTime = 1)')
    assert.equal(await taps(350, 3), '20 s »')
    await until(`video.currentTime > ${clipSeconds - 0.1}`)
    assert.equal(await taps(40, 2), '« 10 s')
    await until('video.currentTime === 0')
    await evaluate('(video.currentTime = 1)')
    await taps(195, 1)
    await taps(350, 1)
    await taps(40, 1)
    assert.equal(await evaluate('video.currentTime'), 1)
  })

  test('volume and speed are remembered, but not what the page sets or hides', async (t) => {
    const { page, until, evaluate } = await open(t, clipId)
    const sound = '[video.volume, video.muted, video.playbackRate]'
    const soundOf = async (path: string) => {
      await page.goto(`${service.url}/vod/${path}`)
      await until('video?.readyState >= 2')
      return evaluate(sound)
    }
    assert.deepEqual(await soundOf(clipId), [1, false, 1])
    for (const key of ['ArrowDown', 'Shift+>', 'm']) await page.keyboard.press(key)
    await until(`String(${sound}) === '0.9,true,1.25'`)
    await evaluate('(video.volume = 0.1)')
    assert.deepEqual(await soundOf(clipId), [0.9, true, 1.25])
    await page.keyboard.press('m')
    await until('!video.muted')
    assert.deepEqual(await soundOf(`${clipId}?muted=true`), [0.9, true, 1.25])
    assert.deepEqual(await soundOf(`${clipId}?hideControls=true`), [1, false, 1])
    assert.deepEqual(await soundOf(clipId), [0.9, false, 1.25])
  })

  test('the list of shortcuts fits a small frame, and closing it returns the focus', async (t) => {
    const { page, until, evaluate } = await open(t, clipId)
    await until('video.readyState >= 2')
    const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    for (const close of [
      () => page.keyboard.press('Escape'),
      () => dialog.getByRole('button', { name: 'Close' }).click(),
      () => page.mouse.click(2, 2),
    ]) {
      await evaluate(`document.querySelector('.play').focus()`)
      await page.keyboard.press('Shift+?')
      await dialog.waitFor()
      const isWhole = await dialog.evaluate(({ scrollHeight, clientHeight }) => scrollHeight <= clientHeight)
      assert.equal(isWhole, true)
      await close()
      await dialog.waitFor({ state: 'detached' })
      assert.equal(await evaluate(focused), 'media-play-button.play')
    }
    assert.equal(await evaluate('video.paused'), true, 'keys in the dialog do not control the video')
  })

  for (const [width, height] of [
    [320, 180],
    [3840, 2160],
  ] as const) {
    test(`the controls fit a frame ${width} pixels wide`, async (t) => {
      const { until, evaluate } = await open(t, clipId, { width, height })
      await until('video.readyState >= 2')
      const layout = await evaluate<{ overflow: boolean; outside: string[]; small: string[] }>(`(() => {
        const shown = [...document.querySelectorAll('[data-control], .title, .big')].filter(
          (each) => getComputedStyle(each).display !== 'none' && !each.closest('media-settings-menu'))
        const boxes = shown.map((each) => [each.localName, each.getBoundingClientRect()])
        const root = document.documentElement
        return {
          overflow: root.scrollWidth > root.clientWidth || root.scrollHeight > root.clientHeight,
          outside: boxes.filter(([, box]) => box.left < 0 || box.right > innerWidth + 0.5 || box.bottom > innerHeight + 0.5).map(([name]) => name),
          small: boxes.filter(([, box]) => box.width < 24 || box.height < 16).map(([name]) => name),
        }
      })()`)
      assert.deepEqual(layout, { overflow: false, outside: [], small: [] })
    })
  }

  test('URL options select a part of the video and hide the title and the controls', async (t) => {
    const { page, until, evaluate } = await open(
      t,
      `${clipId}?muted=true&hideTitle=true#autoplay;t=2,3;hide-controls`,
    )
    await until('video.paused && video.currentTime > 2.9')
    // Playing again starts at the beginning of the part.
    await evaluate(`video.addEventListener('seeking', () => { window.soughtTo = video.currentTime })`)
    await page.keyboard.press('k')
    await until('window.soughtTo === 2')
    assert.ok((await evaluate<number>('video.currentTime')) < 6)
    assert.ok((await evaluate<number>('video.played.start(0)')) >= 1.9)
    const isShown = (name: string) => evaluate(`document.querySelector('${name}').checkVisibility()`)
    assert.equal(await isShown('.title'), false)
    assert.equal(await isShown('.bottom'), false)
  })

  test('shows a status screen for a missing, a failed and a private video', async (t) => {
    await (await open(t, 'vi00000000000000000000')).statusScreen('missing')
    await waitFor(async () => {
      const { body } = await call(`${service.url}/vod/${brokenId}/config.json`, { key: '' })
      return body?.state === 'failed'
    })
    await (await open(t, brokenId)).statusScreen('failed')
    await (await open(t, privateUrl.replace(/\?.*/, ''))).statusScreen('private')
  })

  test('shows an error if segments cannot be loaded, and continues on "Try again"', async (t) => {
    const { page, until, statusScreen } = await open(t, clipId)
    await until('video.readyState >= 2')
    await page.route(/m4s/, (route) => route.fulfill({ status: 404, body: '' }))
    await page.click('.big')
    await statusScreen('error')
    await page.unroute(/m4s/)
    await page.getByRole('button', { name: 'Try again' }).click()
    await until('video.currentTime > 2.5')
    assert.equal(await page.locator('.status-screen').count(), 0)
  })

  test('a private video plays and reloads in one browser, and another gets a status screen and no media', async (t) => {
    const [mine, other] = [
      await browser!.newContext({ viewport }),
      await browser!.newContext({ viewport, userAgent: 'another browser' }),
    ]
    t.after(() => Promise.all([mine.close(), other.close()]))
    const first = await open(t, privateUrl, { context: mine })
    await first.page.click('.big')
    await first.until('video.currentTime > 0.5')
    await first.page.reload()
    await first.page.click('.big')
    await first.until('video.currentTime > 0.5')
    const second = await open(t, privateUrl, { context: other })
    await second.statusScreen('private')
    assert.deepEqual(second.media, [])
  })

  test('a viewer who leaves before the first frame is one session, even after coming back', async (t) => {
    const openWaiting = async (user: string) => {
      const player = await open(t, 'vi00000000000000000000')
      const { promise: allowed, resolve: allow } = Promise.withResolvers<void>()
      await player.page.route(/\.m4s/, (route) => allowed.then(() => route.continue()))
      const url = `${service.url}/vod/${clipId}?autoplay=true&muted=true&metadata[user]=${user}`
      await player.page.goto(url)
      await player.until('video?.paused === false')
      return { ...player, allow }
    }
    const sessionsOf = (user: string) =>
      call(`${service.url}/analytics/videos/${clipId}?metadata[user]=${user}`)

    const leaving = await openWaiting('leaving')
    await leaving.page.goto('about:blank')
    await waitFor(async () => (await sessionsOf('leaving')).body.data.length === 1)

    const { until, evaluate, pings, allow } = await openWaiting('returning')
    // The browser may keep a page that the viewer leaves.
    await evaluate(`[1, 2].forEach(() => window.dispatchEvent(new Event('pagehide')))`)
    allow()
    await until('video.currentTime > 0.1')
    await evaluate('video.pause()')
    await waitFor(() => pings.at(-1)?.session.session_id !== undefined)
    assert.equal(pings.filter(({ session }) => session.session_id === undefined).length, 1)
  })

  test('before the first frame, it loads less than 200 KiB of scripts and reports nothing', async (t) => {
    const context = await browser!.newContext({ viewport })
    t.after(() => context.close())
    await context.addInitScript(recordFirstFrame)
    const { files, until, evaluate, pings } = await open(t, `${clipId}?autoplay=true&muted=true`, { context })
    await until('window.firstFrameMs > 0')
    const scripts = files.filter((url) => url.endsWith('.js'))
    assert.deepEqual(files, scripts, 'styles are part of the script')
    assert.equal(scripts.length, 2)
    await waitFor(() => pings.length > 0)
    // If loading takes long, the report is sent after three seconds.
    const isLater = `performance.getEntriesByType('resource')
      .filter(({ name }) => name.includes('/collector/'))
      .every(({ startTime }) => startTime >= Math.min(window.firstFrameMs, 3000))`
    assert.equal(await evaluate(isLater), true)
    for (const encoding of ['gzip', 'br']) {
      const sizes = await Promise.all(
        files.map(async (url) => {
          const response = await fetch(url, { headers: { 'accept-encoding': encoding } })
          assert.equal(response.headers.get('content-encoding'), encoding)
          await response.body?.cancel()
          return Number(response.headers.get('content-length'))
        }),
      )
      const sum = sizes.reduce((total, size) => total + size, 0)
      t.diagnostic(`${encoding}: ${sum} bytes`)
      assert.ok(sum > 50_000 && sum <= budgetBytes, `${encoding}: ${sizes.join(' + ')} bytes`)
    }
    assert.deepEqual(await context.cookies(), [])
  })
})
