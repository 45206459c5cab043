import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { assertAccessible } from '../support/browser/accessibility.ts'
import { launchBrowser, skip } from '../support/browser/browser.ts'
import { openPlayer, type View } from '../support/browser/player-page.ts'
import { call, kinora, type Service, sendFile, temporaryFolder, waitFor } from '../support/harness.ts'
import { makeClip } from '../support/media/media.ts'
import { withoutThumbnails } from '../support/programs.ts'
import { uploadVideo, waitForEncoding } from '../support/videos.ts'

// Captions and chapters in the player, in a real browser.

const english = `WEBVTT

00:01.000 --> 00:02.000
<b>First</b> <c.off.status-screen>line</c>

00:02.000 --> 00:03.500
Second line
in two rows

00:03.000 --> 00:03.500 line:0
At the top

00:04.000 --> 00:05.000
<script>window.attack = 1</script><img src="x" onerror="window.attack = 1"> 1 &lt; 2 <img src="x" onerror="window.attack = 1"

${Array.from({ length: 500 }, (_, i) => `00:05.500 --> 00:05.900\nCue ${i}\n`).join('\n')}

backwards
00:05.800 --> 00:05.100
Backwards

00:59.000 --> 01:00.000
After the end
`
const arabic = `WEBVTT

00:01.000 --> 00:02.000
مرحبا بكم!

00:02.000 --> 00:03.000
iPhone هاتف.
`
const chapters = `WEBVTT

00:00.000 --> 00:02.000
Opening

00:02.000 --> 00:04.000
The <i>middle</i> & more than fits next to the buttons

00:04.000 --> 00:06.000
Closing
`
const hebrewChapters = 'WEBVTT\n\n00:00.000 --> 00:06.000\nפתיחה!\n'
/** In the wrong order, overlapping, backwards, empty, after the end. */
const badChapters = `WEBVTT

00:04.000 --> 00:09.000
C

00:00.000 --> 00:05.000
A

00:02.000 --> 00:01.000
B &lt;img src=x onerror="window.attack = 1">

00:02.000 --> 00:00.500
Again

10:00:00.000 --> 11:00:00.000
After the end
`

let service: Service
let browser: Browser | undefined
let videoId: string
const ends: (() => unknown)[] = []

async function add(path: string, content: string): Promise<void> {
  const { status, text } = await sendFile(`${service.url}/videos/${videoId}/${path}`, Buffer.from(content))
  assert.equal(status, 200, text)
}

before(async () => {
  const folder = await temporaryFolder({ after })
  const clip = join(folder, 'clip.mp4')
  browser = await launchBrowser()
  service = await kinora({ after: (end) => ends.push(end) }, withoutThumbnails())
  await makeClip(clip, { size: '320x180', rate: '10', seconds: 6 })
  videoId = await uploadVideo(service, clip, { title: 'Captions' })
  await add('captions/en', english)
  await add('captions/ar', arabic)
  await add('captions/fr', 'WEBVTT\n\n00:01.000 --> 00:02.000\nBonjour\n')
  await add('chapters/en', chapters)
  await add('chapters/fr', badChapters)
  await add('chapters/he', hebrewChapters)
  await waitForEncoding(service, videoId)
})
after(async () => {
  await browser?.close()
  for (const end of ends) await end()
})

/** Opens the player, plays a moment and pauses near the start, so that the poster is gone. */
async function open(t: TestContext, path: string, view: View = {}) {
  const url = path.startsWith('http') ? path : `${service.url}/vod/${path}`
  const player = await openPlayer(t, browser!, url, view)
  const { page, until, evaluate } = player
  await until('video?.readyState >= 2')
  await page.click('.big')
  await until('video.currentTime > 0')
  await evaluate('video.pause()')
  // On a busy machine the video may have played for seconds.
  await evaluate('(video.currentTime = 0.1)')
  await until('!video.seeking')
  await page.waitForSelector('#subtitles-button')
  return {
    ...player,
    /** Waits until these captions are shown at a position. */
    async untilCaptionsAt(seconds: number, texts: string[]) {
      await evaluate(`(video.currentTime = ${seconds})`)
      await until(
        `!video.seeking && JSON.stringify(${cueTexts}) === ${JSON.stringify(JSON.stringify(texts))}`,
      )
    },
  }
}

/** The text of the menu item that has the focus. */
const focusedItem = `(document.activeElement.localName === 'media-chrome-menu-item' ? document.activeElement.textContent : '')`
const cueTexts = `[...document.querySelectorAll('.cue')].map((cue) => cue.textContent)`

const openMenu = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, exact: typeof name === 'string' }).click()
const radio = (page: Page, name: string) => page.getByRole('menuitemradio', { name, exact: true })

async function chooseLanguage(page: Page, name: string): Promise<void> {
  await openMenu(page, 'Captions')
  await radio(page, name).click()
}

async function newContext(t: TestContext, options: object = {}): Promise<BrowserContext> {
  const context = await browser!.newContext({ viewport: { width: 640, height: 360 }, ...options })
  t.after(() => context.close())
  return context
}

async function patch(path: string, json: object) {
  const { status, body, text } = await call(`${service.url}/videos/${videoId}${path}`, {
    method: 'PATCH',
    json,
  })
  assert.equal(status, 200, text)
  return body
}

test('the configuration of the player lists captions and chapters by language', async () => {
  const path = `/vod/${videoId}`
  const { body } = await call(`${service.url}${path}/config.json`, { key: '' })
  assert.deepEqual(body.captions, [
    { src: `${path}/captions/ar.vtt`, srclang: 'ar', label: 'العربية', default: false },
    { src: `${path}/captions/en.vtt`, srclang: 'en', label: 'English', default: false },
    { src: `${path}/captions/fr.vtt`, srclang: 'fr', label: 'Français', default: false },
  ])
  assert.deepEqual(body.chapters, [
    { src: `${path}/chapters/en.vtt`, srclang: 'en' },
    { src: `${path}/chapters/fr.vtt`, srclang: 'fr' },
    { src: `${path}/chapters/he.vtt`, srclang: 'he' },
  ])
})

describe('captions', { skip }, () => {
  test('the menu lists them by native name, and each cue is shown at its second, even without storage', async (t) => {
    const context = await newContext(t)
    await context.addInitScript({
      content: `Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('denied', 'SecurityError') } })`,
    })
    const requests: string[] = []
    context.on('request', (request) => requests.push(request.url()))
    const { page, until, untilCaptionsAt, errors } = await open(t, videoId, { context })
    await openMenu(page, 'Captions')
    const items = page.locator('#subtitles-menu > .choices > [role=menuitemradio]')
    assert.deepEqual(await items.allTextContents(), ['Off', 'العربية', 'English', 'Français'])
    assert.equal(await radio(page, 'Off').getAttribute('aria-checked'), 'true')
    const isCaption = (url: string) => url.includes('/captions/')
    assert.deepEqual(requests.filter(isCaption), [], 'nothing is loaded before it is shown')
    await radio(page, 'English').click()

    await untilCaptionsAt(1, ['First line'])
    await untilCaptionsAt(0.99, [])
    await untilCaptionsAt(1.99, ['First line'])
    await untilCaptionsAt(2, ['Second line\nin two rows'])
    await untilCaptionsAt(3.2, ['Second line\nin two rows', 'At the top'])
    await untilCaptionsAt(3.6, [])
    await until(`document.querySelector('#subtitles-button').classList.contains('on')`)
    await chooseLanguage(page, 'Français')
    await untilCaptionsAt(1.5, ['Bonjour'])
    await chooseLanguage(page, 'Off')
    await untilCaptionsAt(1.5, [])
    assert.equal(requests.filter(isCaption).length, 2)
    assert.deepEqual(errors, [])
  })

  test('cues with scripts and markup are text, and too many cues at once are cut', async (t) => {
    const { page, untilCaptionsAt, evaluate, errors } = await open(t, videoId)
    await chooseLanguage(page, 'English')
    await untilCaptionsAt(4.5, ['window.attack = 1 1 < 2 <img src="x" onerror="window.attack = 1"'])
    assert.equal(await evaluate(`document.querySelectorAll('.captions :is(script, img)').length`), 0)
    assert.equal(await evaluate('window.attack'), undefined)
    await untilCaptionsAt(1.5, ['First line'])
    assert.equal(await evaluate(`document.querySelector('.cue b').textContent`), 'First')
    assert.equal(await evaluate(`document.querySelectorAll('.cue [class]').length`), 0)
    await untilCaptionsAt(
      5.7,
      Array.from({ length: 16 }, (_, i) => `Cue ${i}`),
    )
    assert.deepEqual(errors, [])
  })

  test('the default captions are shown, and the last choice of the viewer comes first', async (t) => {
    const shown = async (path: string, view: View, texts: string[]) => {
      const player = await open(t, path, view)
      await player.untilCaptionsAt(1.5, texts)
      return player
    }
    t.after(() => patch('/captions/fr', { default: false }))
    const context = await newContext(t)
    await patch('/captions/fr', { default: true })
    const { page } = await shown(videoId, { context }, ['Bonjour'])
    await chooseLanguage(page, 'English')
    const { page: other } = await shown(videoId, { context }, ['First line'])
    await chooseLanguage(other, 'Off')
    const last = await shown(`${videoId}#show-subtitles`, { context }, [])
    // The shortcut turns on the default.
    await last.page.keyboard.press('c')
    await last.untilCaptionsAt(1.5, ['Bonjour'])
    await last.page.keyboard.press('c')
    await last.untilCaptionsAt(1.5, [])
  })

  test('the viewer sets size and background, and finds them again', async (t) => {
    const context = await newContext(t)
    const style = `(() => {
      const { fontSize, backgroundColor } = getComputedStyle(document.querySelector('.cue'))
      return [Number.parseFloat(fontSize), backgroundColor]
    })()`
    const { page, untilCaptionsAt, evaluate } = await open(t, `${videoId}?showSubtitles`, { context })
    await untilCaptionsAt(2.5, ['Second line\nin two rows'])
    const [size, background] = await evaluate<[number, string]>(style)
    assert.equal(background, 'rgba(0, 0, 0, 0.75)')
    await openMenu(page, 'Captions')
    for (const [menu, choice] of [
      ['Size', '200%'],
      ['Background', 'None'],
    ] as const) {
      // While the other menu still closes, a click may not open this one.
      await waitFor(async () => {
        if (!(await radio(page, choice).isVisible())) await page.getByRole('menuitem', { name: menu }).click()
        return radio(page, choice).isVisible()
      })
      await radio(page, choice).click()
    }
    assert.deepEqual(await evaluate(style), [size * 2, 'rgba(0, 0, 0, 0)'])
    const again = await open(t, `${videoId}?showSubtitles`, { context })
    await again.untilCaptionsAt(2.5, ['Second line\nin two rows'])
    assert.deepEqual(await again.evaluate(style), [size * 2, 'rgba(0, 0, 0, 0)'])
  })

  test('large captions are above the controls, and everything fits, at every width', async (t) => {
    const context = await newContext(t)
    await context.addInitScript({
      content: `localStorage.setItem('kinora-captions', '{"language":"en","size":"2"}')`,
    })
    const { page, untilCaptionsAt, until } = await open(t, videoId, { context })
    await untilCaptionsAt(2.5, ['Second line\nin two rows'])
    await page.waitForSelector('#chapters-button')
    // The elements that are too small or outside of the frame, and the captions if they cover the controls.
    const misplaced = `(() => {
      const box = (element) => element.getBoundingClientRect()
      const captions = document.querySelector('.cues')
      const isCovering = box(captions).bottom > box(document.querySelector('media-time-range')).top
      const elements = [captions, ...document.querySelectorAll('.bottom [data-control]')]
      const wrong = elements.filter((element) => {
        const { top, left, right, bottom, width } = box(element)
        const isOutside = top < 0 || left < 0 || right > innerWidth + 0.5 || bottom > innerHeight + 0.5
        return isOutside || (width < 24 && element.checkVisibility())
      })
      return [...wrong, ...(isCovering ? [captions] : [])].map((element) => element.outerHTML.slice(0, 60))
    })()`
    for (const width of [320, 390, 445, 500, 565, 640, 1280]) {
      await page.setViewportSize({ width, height: Math.round((width * 9) / 16) })
      await until(`innerWidth === ${width} && String(${misplaced}) === ''`)
    }
  })

  test('right-to-left text is read from the right, with its punctuation on the left', async (t) => {
    const context = await newContext(t, { locale: 'ar-EG' })
    // The option shows the captions in the language of the viewer.
    const { untilCaptionsAt, evaluate } = await open(t, `${videoId}?showSubtitles=true`, { context })
    await untilCaptionsAt(1.5, ['\u200fمرحبا بكم!'])
    const direction = `getComputedStyle(document.querySelector('[role=menuitemradio][value=ar] bdi')).direction`
    assert.equal(await evaluate(direction), 'rtl')
    // The horizontal position of a character of the caption.
    const leftOf = (character: string) =>
      evaluate<number>(`(() => {
        const walker = document.createTreeWalker(document.querySelector('.cue'), NodeFilter.SHOW_TEXT)
        const node = walker.nextNode()
        const range = document.createRange()
        const index = node.data.indexOf('${character}')
        range.setStart(node, index)
        range.setEnd(node, index + 1)
        return range.getBoundingClientRect().left
      })()`)
    assert.ok((await leftOf('!')) < (await leftOf('م')))
    await untilCaptionsAt(2.5, ['\u200fiPhone هاتف.'])
    assert.ok((await leftOf('.')) < (await leftOf('ه')))
    assert.ok((await leftOf('ه')) < (await leftOf('P')))
    assert.equal(await evaluate(`document.querySelector('.captions').lang`), 'ar')
  })

  test('a browser that plays HLS itself shows the tracks of the stream', async (t) => {
    const context = await newContext(t)
    await context.addInitScript({ content: 'delete window.MediaSource; delete window.ManagedMediaSource' })
    // The MP4 stands in for the stream, because this browser cannot play HLS itself.
    await context.route(/\/vod\/\w+$/, async (route) => {
      const response = await route.fetch()
      const page = (await response.text()).replaceAll('hls/manifest.m3u8', 'mp4/source.mp4')
      await route.fulfill({ response, body: page })
    })
    const { page, until, evaluate, errors } = await open(t, videoId, { context })
    const modes = `[...video.textTracks].filter(({ kind }) => kind === 'subtitles').map(({ language, mode }) => language + ' ' + mode)`
    await evaluate(
      `['en', 'fr'].forEach((language) => video.addTextTrack('subtitles', language, language).mode = 'disabled')`,
    )
    await chooseLanguage(page, 'Français')
    assert.deepEqual(await evaluate(modes), ['en disabled', 'fr showing'])
    // The browser's own menu, for example in the full screen of an iPhone.
    await evaluate(`[...video.textTracks].forEach((track) => {
      if (track.kind === 'subtitles') track.mode = track.language === 'en' ? 'showing' : 'disabled'
    })`)
    await openMenu(page, 'Captions')
    await until(`document.querySelector('[value=en]').getAttribute('aria-checked') === 'true'`)
    await radio(page, 'Off').click()
    assert.deepEqual(await evaluate(modes), ['en disabled', 'fr disabled'])
    assert.equal(await evaluate(`document.querySelectorAll('.captions').length`), 0)
    assert.deepEqual(errors, [])
  })

  test('a private video has captions and chapters', async (t) => {
    t.after(() => patch('', { public: true }))
    const { assets } = await patch('', { public: false })
    const { pathname, search } = new URL(assets.player)
    const { page, untilCaptionsAt } = await open(t, `${service.url}${pathname}${search}`)
    await chooseLanguage(page, 'English')
    await untilCaptionsAt(1.5, ['First line'])
    await openMenu(page, /^Chapters/)
    await page.getByRole('menuitemradio', { name: /^Closing/ }).waitFor()
  })
})

describe('accessibility', { skip }, () => {
  test('axe finds nothing in any state of the player', async (t) => {
    const context = await newContext(t, { reducedMotion: 'reduce' })
    const url = `${service.url}/vod/${videoId}`
    const { page, until, evaluate, statusScreen } = await openPlayer(t, browser!, url, { context })
    await page.waitForSelector('#chapters-button')
    assert.equal(await page.getByRole('region', { name: 'Captions', exact: true }).count(), 1)
    await assertAccessible(page, 'initial')
    await page.click('.big')
    await until('video.currentTime > 0')
    await assertAccessible(page, 'playing')
    await evaluate('video.pause()')
    for (const [menu, submenu] of [
      ['Captions', 'Size'],
      [/^Chapters/, undefined],
      ['settings', 'Speed'],
    ] as const) {
      await openMenu(page, menu)
      await assertAccessible(page, `menu ${menu}`)
      if (submenu) {
        await page.getByRole('menuitem', { name: submenu }).click()
        await page.getByRole('menuitem', { name: `${submenu}: back` }).waitFor()
        await assertAccessible(page, `menu ${submenu}`)
      }
      await openMenu(page, menu)
    }
    await page.keyboard.press('Shift+?')
    await page.getByRole('dialog').waitFor()
    await assertAccessible(page, 'dialog')
    await page.keyboard.press('Escape')
    await page.keyboard.press('End')
    await until('video.ended && !video.seeking')
    await assertAccessible(page, 'ended')
    await page.route(/m4s/, (route) => route.fulfill({ status: 404, body: '' }))
    await page.reload()
    await statusScreen('error')
    await assertAccessible(page, 'error')
  })
})

describe('chapters', { skip }, () => {
  test('the timeline has marks and shows the title of a chapter while hovering', async (t) => {
    // Without chapters in the language of the viewer, the player shows the first ones.
    const context = await newContext(t, { locale: 'ja-JP' })
    const { page, until, evaluate, errors } = await open(t, videoId, { context })
    const bar = `document.querySelector('media-time-range')`
    await until(`${bar}.shadowRoot.querySelectorAll('#segments-clipping rect').length === 3`)
    const { x, y, width, height } = (await page.locator('media-time-range').boundingBox())!
    for (const [share, title] of [
      [0.15, 'Opening'],
      [0.5, 'The middle & more than fits next to the buttons'],
      [0.9, 'Closing'],
    ] as const) {
      await page.mouse.move(x + width * share, y + height / 2)
      await until(`${bar}.getAttribute('mediapreviewchapter') === ${JSON.stringify(title)}`)
    }
    const display = `${bar}.shadowRoot.querySelector('media-preview-chapter-display')`
    await until(`${display}.shadowRoot.textContent.includes('Closing') && ${display}.checkVisibility()`)
    assert.equal(await evaluate('window.attack'), undefined)
    assert.deepEqual(errors, [])
  })

  test('the menu jumps to a chapter, by mouse and by keyboard, and the button names the current one', async (t) => {
    // media-chrome moves the focus into a menu at the end of its transition, which is short then.
    const context = await newContext(t, { reducedMotion: 'reduce' })
    const { page, until, evaluate } = await open(t, videoId, { context })
    await openMenu(page, 'Chapters, now: Opening')
    assert.deepEqual(await page.locator('#chapters-menu [role=menuitemradio] bdi').allTextContents(), [
      'Opening',
      'The middle & more than fits next to the buttons',
      'Closing',
    ])
    await page.getByRole('menuitemradio', { name: /^The middle/ }).click()
    await until('video.currentTime === 2')
    await until(
      `document.querySelector('#chapters-button').getAttribute('aria-label') === 'Chapters, now: The middle & more than fits next to the buttons'`,
    )
    await evaluate(`(video.currentTime = 3)`)
    await until('!video.seeking')
    await evaluate(`document.querySelector('#chapters-button').focus()`)
    await page.keyboard.press('Enter')
    // The menu starts at the current chapter. Choosing it again returns to its start.
    await until(`${focusedItem}.startsWith('The middle')`)
    await page.keyboard.press('Enter')
    await until('video.currentTime === 2')
    await until(`document.activeElement.id === 'chapters-button'`)
    await page.keyboard.press('Enter')
    await until(`${focusedItem}.startsWith('The middle')`)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await until('video.currentTime === 4')
  })

  test('the chapters are in the language of the viewer', async (t) => {
    const context = await newContext(t, { locale: 'he-IL' })
    const { page } = await open(t, videoId, { context })
    await openMenu(page, 'Chapters, now: פתיחה!')
  })

  test('chapters that overlap, run backwards or are after the end do no harm', async (t) => {
    const context = await newContext(t, { locale: 'fr-FR' })
    const { page, until, evaluate, errors } = await open(t, videoId, { context })
    await openMenu(page, 'Chapters, now: A')
    assert.deepEqual(await page.locator('#chapters-menu bdi').allTextContents(), [
      'A',
      'B <img src=x onerror="window.attack = 1">',
      'C',
    ])
    const marks = `document.querySelector('media-time-range').shadowRoot.querySelectorAll('#segments-clipping rect').length`
    await until(`${marks} === 3`)
    await page.getByRole('menuitemradio', { name: /^C/ }).click()
    await until('video.currentTime === 4')
    assert.equal(await evaluate('window.attack'), undefined)
    assert.deepEqual(errors, [])
  })
})
