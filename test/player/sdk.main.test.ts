import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Browser, Frame, Page } from 'playwright-core'
import { launchBrowser, type Pages, servePages, skip } from '../support/browser/browser.ts'
import { kinora, type Service, sendFile, temporaryFolder, timeoutMs, waitFor } from '../support/harness.ts'
import { type GatedFfmpeg, gatedFfmpeg } from '../support/media/gated-ffmpeg.ts'
import { makeClip } from '../support/media/media.ts'
import { withoutThumbnails } from '../support/programs.ts'
import { assertEncoded, uploadVideo, waitForEncoding } from '../support/videos.ts'

// The published, unmodified SDK on a page of another origin.

const script = `
  let player
  const events = []
  const names = ['ready', 'play', 'pause', 'ended', 'firstplay', 'seeking', 'timeupdate', 'volumechange', 'ratechange',
    'qualitychange', 'fullscreenchange', 'resize', 'playerresize', 'mouseenter', 'mouseleave', 'useractive',
    'userinactive', 'controlsenabled', 'controlsdisabled', 'error']
  function create(options, target = '#target') {
    player = new PlayerSdk(target, options)
    for (const name of names) player.addEventListener(name, (data) => events.push({ name, data }))
  }`

let gated: GatedFfmpeg
let service: Service
let clip: string
let pages: Pages
let browser: Browser | undefined
let [long, short] = ['', '']
const ends: (() => unknown)[] = []

before(async () => {
  if (skip) return
  const folder = await temporaryFolder({ after })
  const library = readFileSync(fileURLToPath(import.meta.resolve('@api.video/player-sdk')))
  const page = `<!doctype html><script src="/sdk.js"></script>
    <div id="target" style="width:640px;height:360px"></div><script>${script}</script>`
  pages = await servePages(({ url }, response) => {
    const [type, content] = url === '/sdk.js' ? ['text/javascript', library] : ['text/html', page]
    response.setHeader('content-type', type).end(content)
  })
  // The SDK starts playback without a click.
  browser = await launchBrowser(['--autoplay-policy=no-user-gesture-required'])
  gated = await gatedFfmpeg(folder, withoutThumbnails().KINORA_FFMPEG)
  service = await kinora({ after: (end) => ends.push(end) }, { KINORA_FFMPEG: gated.path })
  const [first, second] = [join(folder, 'first.mp4'), join(folder, 'second.mp4')]
  clip = first
  await makeClip(first, { size: '640x360', rate: '10', seconds: 6 })
  await makeClip(second, { size: '320x240', rate: '10', seconds: 3 })
  long = await uploadVideo(service, first, { title: 'Long', mp4Support: true })
  short = await uploadVideo(service, second, { title: 'Short', mp4Support: false })
  const captions = Buffer.from('WEBVTT\n\n00:00.000 --> 01:00:00.000\nHello\n')
  for (const path of ['captions/en', 'chapters/en'])
    assert.equal((await sendFile(`${service.url}/videos/${long}/${path}`, captions)).status, 200)
  await assertEncoded(service, long, ['hls 240p', 'hls 360p', 'mp4 360p'])
  await waitForEncoding(service, short)
})
after(async () => {
  await browser?.close()
  pages?.close()
  for (const end of ends) await end()
})

type SdkPage = {
  page: Page
  /** Runs code in the page of the SDK. */
  run<T>(code: string): Promise<T>
  /** Evaluates an expression in the player page. `video` is the video element. */
  inside<T>(code: string): Promise<T>
  /** Waits for an event of the SDK and removes it, so that the next call waits for another one. */
  event(name: string, condition?: string): Promise<void>
}

async function openPage(t: TestContext): Promise<SdkPage> {
  const page = await browser!.newPage({ viewport: { width: 900, height: 600 } })
  t.after(() => page.close())
  await page.goto(pages.url)
  const frame = () => page.frames().find((each) => each.url().startsWith(service.url)) as Frame
  return {
    page,
    run: (code) => page.evaluate(`(async () => { ${code} })()`),
    inside: async (code) => frame().evaluate(`((video) => ${code})(document.querySelector('video'))`),
    async event(name, condition = 'true') {
      const find = `events.findIndex(({ name, data }) => name === '${name}' && ${condition})`
      await waitFor(
        async () => (await page.evaluate(find)) !== -1,
        () => `no event ${name} (${condition})`,
      )
      await page.evaluate(`events.splice(${find}, 1)`)
    },
  }
}

const optionsOf = (id: string, more: object = {}) =>
  JSON.stringify({ id, iframeUrl: `${service.url}/\${type}/\${id}`, ...more })

describe('@api.video/player-sdk', { skip }, () => {
  test('the playback commands, getters and events work', async (t) => {
    const { page, run, inside, event } = await openPage(t)
    await run(`create(${optionsOf(long, { playbackRate: 1.5, metadata: { user: 'a b' } })})`)
    await event('ready')
    await event('ratechange')
    const values = await run<unknown[]>(`return Promise.all([
      player.getPaused(), player.getPlaying(), player.getMuted(), player.getCurrentTime(), player.getPlaybackRate(),
      player.getVolume(), player.getLoop(), player.isLiveStream(), player.getDuration().then(Math.round)])`)
    assert.deepEqual(values, [true, false, false, 0, 1.5, 1, false, false, 6])
    const { width, height } = await run<{ width: number; height: number }>('return player.getVideoSize()')
    assert.ok([240, 360].includes(height) && width > height, `${width}x${height}`)

    // On a busy machine the video may end before it is paused.
    await run('player.setLoop(true)')
    assert.equal(await run('return player.getLoop()'), true)
    await run('player.play()')
    await event('play')
    await event('firstplay')
    await event('timeupdate', 'data.currentTime > 0.5')
    assert.equal(await run('return player.getPlaying()'), true)
    await run('player.pause()')
    await event('pause')
    await run('player.setCurrentTime(1)')
    await event('seeking')
    await waitFor(async () => (await run<number>('return player.getCurrentTime()')) === 1)
    await run('player.seek(2)')
    await waitFor(async () => (await run<number>('return player.getCurrentTime()')) === 3)
    await run('player.setVolume(0.25)')
    await event('volumechange', 'data.volume === 0.25')
    assert.equal(await run('return player.getVolume()'), 0.25)
    await run('player.mute()')
    assert.equal(await run('return player.getMuted()'), true)
    await run('player.unmute()')
    assert.equal(await run('return player.getMuted()'), false)
    await run('player.setLoop(false)')
    await run('player.setPlaybackRate(2)')
    await event('ratechange')
    await run('player.setMaximalQuality(240)')
    await run('player.setMinimalQuality(240)')
    await run('player.play()')
    await event('ended')

    await event('qualitychange', '[240, 360].includes(data.resolution.height) && data.resolution.width > 0')
    await event('resize')
    await run(`document.querySelector('#target').style.width = '500px'`)
    await event('playerresize')
    await page.mouse.move(100, 100)
    await event('mouseenter')
    await event('useractive')
    // Moving the mouse of the test fires no mouseleave in a frame of another origin.
    await inside(`document.documentElement.dispatchEvent(new MouseEvent('mouseleave'))`)
    await event('mouseleave')

    // Browsers allow full screen only after a click in the frame, for five seconds.
    await inside(`addEventListener('click', () => parent.postMessage('clicked', '*'), { once: true })`)
    await run(`addEventListener('message', ({ data }) => data === 'clicked' && player.requestFullscreen())`)
    await page.mouse.click(250, 180)
    await event('fullscreenchange', 'data.isFullScreen === true')
    assert.equal(await inside('document.fullscreenElement !== null'), true)
    await run('player.exitFullscreen()')
    await event('fullscreenchange', 'data.isFullScreen === false')
    await run('player.requestPictureInPicture(); player.exitPictureInPicture()')

    const download = page.waitForEvent('download', { timeout: timeoutMs })
    await run(`player.download('mine.mp4')`)
    assert.equal((await download).suggestedFilename(), 'mine.mp4')
  })

  test('the duration is that of the entire video while it is being encoded, and seeks stay in the playable part', async (t) => {
    t.after(gated.encodeAll)
    await gated.encodeUntil(1)
    const id = await uploadVideo(service, clip, { mp4Support: false })
    const { run, event } = await openPage(t)
    await run(`create(${optionsOf(id)})`)
    await event('ready')
    assert.equal(await run('return player.getDuration()'), 6)
    await run('player.setCurrentTime(5)')
    await event('seeking')
    // One second is encoded. The player stops one second before its end.
    assert.equal(await run('return player.getCurrentTime()'), 0)
    await gated.encodeAll()
    await waitForEncoding(service, id)
    await waitFor(async () => {
      await run('player.setCurrentTime(5)')
      return (await run<number>('return player.getCurrentTime()')) === 5
    })
    assert.equal(await run('return player.getDuration()'), 6)
  })

  test('the commands for controls, title, poster, subtitles, theme and styles work', async (t) => {
    const { page, run, inside, event } = await openPage(t)
    await run(`create(${optionsOf(long, { hideTitle: true, hidePoster: true, loop: true, muted: true })})`)
    await event('ready')
    assert.deepEqual(await inside('[video.muted, video.loop]'), [true, true])
    const isShown = (name: string) => inside<boolean>(`document.querySelector('${name}').checkVisibility()`)
    const becomes = (name: string, shown: boolean) =>
      waitFor(
        async () => (await isShown(name)) === shown,
        () => `${name} is ${shown ? 'not visible' : 'visible'}`,
      )
    await becomes('.title', false)
    await run('player.showTitle()')
    await becomes('.title', true)
    await run('player.hideTitle()')
    await becomes('.title', false)
    await run('player.hideControls()')
    await event('controlsdisabled')
    await becomes('media-control-bar', false)
    await run(`player.showControls(['progressBar'])`)
    await event('controlsenabled')
    await becomes('media-time-range', true)
    await becomes('.play', false)
    await run('player.showControls()')
    await becomes('.play', true)
    await run(`player.hideControls(['download', 'volume', 'fullscreen'])`)
    await becomes('a.button', false)
    await becomes('media-mute-button', false)
    await becomes('media-pip-button', true)
    await page.mouse.dblclick(200, 120)
    await run('player.showControls()')
    await becomes('media-mute-button', true)
    // It would go back if the first double-click had gone full screen without the button.
    await page.mouse.dblclick(200, 120)
    await event('fullscreenchange', 'data.isFullScreen === true')
    await run('player.exitFullscreen()')
    await event('fullscreenchange', 'data.isFullScreen === false')
    await run('player.setChromeless(true)')
    await becomes('.bottom', false)
    await run('player.setChromeless(false)')
    await becomes('.bottom', true)
    await run('player.showPoster(); player.hidePoster()')

    const property = (name: string) =>
      inside<string>(`document.querySelector('media-controller').style.getPropertyValue('${name}')`)
    await run(`player.setTheme({ link: 'red', trackPlayed: 'rgba(0, 255, 0, 1)',
      text: 'blue;} </style><script>alert(1)</script>', backgroundTop: 'url(https://x.example)' })`)
    await waitFor(async () => (await property('--link')) === 'red')
    assert.equal(await property('--track-played'), 'rgba(0, 255, 0, 1)')
    assert.equal(await property('--text'), 'rgba(255, 255, 255, 1)')
    assert.equal(await property('--background-top'), 'rgba(0, 0, 0, .7)')
    await run(`player.setVideoStyleObjectFit('cover'); player.setVideoStyleTransform('rotateY(180deg)')`)
    await waitFor(async () => (await inside('video.style.transform')) === 'rotateY(180deg)')
    assert.equal(await inside('video.style.objectFit'), 'cover')

    await run('player.destroy()')
    await waitFor(async () => (await page.locator('iframe').count()) === 0)
  })

  test('the commands and the option for subtitles work', async (t) => {
    const { run, inside, event } = await openPage(t)
    const captions = `[...document.querySelectorAll('.cue')].map((cue) => cue.textContent).join()`
    const becomes = (text: string) =>
      waitFor(
        async () => (await inside(captions)) === text,
        () => `the captions are not "${text}"`,
      )
    await run(`create(${optionsOf(long)})`)
    // Before the player is ready, the SDK queues the command.
    await run('player.showSubtitles()')
    await event('ready')
    await run('player.play()')
    await event('play')
    await becomes('Hello')
    await run('player.pause(); player.hideSubtitles()')
    await becomes('')
    await run('player.showSubtitles()')
    await becomes('Hello')
    const isShown = (name: string) =>
      inside<boolean>(`document.querySelector('${name}')?.checkVisibility() === true`)
    await waitFor(() => isShown('#chapters-button'))
    await run(`player.hideControls(['subtitles', 'chapters'])`)
    await waitFor(async () => !(await isShown('#subtitles-button')) && !(await isShown('#chapters-button')))
    await run(`player.showControls(['subtitles'])`)
    await waitFor(async () => (await isShown('#subtitles-button')) && !(await isShown('#chapters-button')))
    await run('player.hideSubtitles()')
    await becomes('')
    await run(`player.loadConfig(${optionsOf(long, { showSubtitles: true, autoplay: true })})`)
    await becomes('Hello')
  })

  test('loadConfig plays another video in the same player, and reports a video that cannot be played', async (t) => {
    const { page, run, event, inside } = await openPage(t)
    await run(`create(${optionsOf(long)})`)
    await event('ready')
    await run(`player.loadConfig(${optionsOf(short, { autoplay: true, muted: true })})`)
    await event('ready')
    await event('play')
    assert.equal(Math.round(await run<number>('return player.getDuration()')), 3)
    assert.equal(await inside('document.querySelectorAll("video").length'), 1)
    const pageError = page.waitForEvent('pageerror', { timeout: timeoutMs })
    await run('player.download()')
    assert.match((await pageError).message, /not downloadable/)
    await run(`player.loadConfig(${optionsOf('vi00000000000000000000')})`)
    await event('error')
  })

  test('the SDK binds to an existing frame, and the player ignores messages from other origins', async (t) => {
    const { run, event, inside } = await openPage(t)
    const src = `${service.url}/vod/${long}`
    await run(`
      const frame = document.createElement('iframe')
      frame.id = 'mine'
      frame.allow = 'autoplay'
      frame.src = ${JSON.stringify(src)}
      document.body.append(frame)
      create(${optionsOf(long)}, '#mine')`)
    await event('ready')
    await run('player.play()')
    await event('play')
    await run('player.pause()')
    await event('pause')
    // The messages come from the parent window, but the frame expects another origin.
    await run(`document.querySelector('#mine').remove()
      const frame = document.createElement('iframe')
      frame.id = 'other'
      frame.src = ${JSON.stringify(`${src}?muted=true#api;sdkPlayerId:9;sdkOrigin:${btoa('https://other.example')}`)}
      document.body.append(frame)`)
    await waitFor(async () => (await inside<number>('video?.readyState ?? 0').catch(() => 0)) >= 2)
    await inside(`addEventListener('message', ({ data }) => { window.hasLast ||= data === 'last' })`)
    await run(`const { contentWindow } = document.querySelector('#other')
      contentWindow.postMessage({ message: 'unmute', sdkPlayerId: 9 }, '*')
      contentWindow.postMessage({ message: 'play', sdkPlayerId: 9 }, '*')
      contentWindow.postMessage('last', '*')`)
    // Messages arrive in order, so the player has handled the first two.
    await waitFor(() => inside<boolean>('window.hasLast === true'))
    assert.deepEqual(await inside('[video.paused, video.muted]'), [true, true])
  })
})
