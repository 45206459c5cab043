import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { Browser, BrowserContextOptions, CDPSession, Page } from 'playwright-core'
import { launchBrowser, type Pages, servePages, skip } from '../support/browser/browser.ts'
import { root, temporaryFolder, waitFor } from '../support/harness.ts'
import { ffmpeg } from '../support/media/media.ts'

// The 360° view in a real browser. The video has one color for each direction. In its second half, the front changes its
// color.

const colors = {
  red: [255, 0, 0],
  green: [0, 200, 0],
  blue: [0, 0, 255],
  yellow: [255, 255, 0],
  white: [255, 255, 255],
  black: [0, 0, 0],
  magenta: [255, 0, 255],
  /** The background of the page. */
  gray: [128, 128, 128],
} as const
type Color = keyof typeof colors

const size = { width: 480, height: 360 }

/** `before` runs before the view starts, for example to remove a browser feature. */
const page = (before: string) => `<!doctype html>
  <style>
    body { margin: 0; background: rgb(128 128 128) }
    #host { width: ${size.width}px; height: ${size.height}px }
    video { width: 100%; height: 100%; opacity: 0 }
  </style>
  <div id="host"><video src="/video.mp4" muted preload="auto"></video></div>
  <script>
    const video = document.querySelector('video')
    const host = document.querySelector('#host')
    // Without the hint about dragging, which would cover the view.
    localStorage.setItem('kinora-360', '{"known":true}')
    const reached = []
    document.addEventListener('keydown', ({ key }) => reached.push(key))
    let draws = 0
    for (const { prototype } of [WebGLRenderingContext, WebGL2RenderingContext]) {
      const draw = prototype.drawArrays
      prototype.drawArrays = function (...args) {
        draws += 1
        draw.apply(this, args)
      }
    }
    ${before}
  </script>
  <script type="module">
    import { startPanorama } from '/panorama/panorama.ts'
    window.view = startPanorama(video, host)
  </script>`

let pages: Pages
let browser: Browser | undefined

before(async () => {
  if (skip) return
  const folder = await temporaryFolder({ after })
  const path = join(folder, 'video.mp4')
  await makeVideo(path)
  const video = await readFile(path)
  pages = await servePages(({ url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://localhost')
    if (pathname === '/video.mp4') return response.setHeader('content-type', 'video/mp4').end(video)
    if (pathname === '/')
      return response.setHeader('content-type', 'text/html').end(page(searchParams.get('before') ?? ''))
    if (!/^(\/[\w-]+)+\.ts$/.test(pathname)) return response.writeHead(404).end()
    const source = readFileSync(join(root, 'web/player', pathname), 'utf8')
    return response.setHeader('content-type', 'text/javascript').end(stripTypeScriptTypes(source))
  })
  browser = await launchBrowser(['--enable-unsafe-swiftshader', '--autoplay-policy=no-user-gesture-required'])
})
after(async () => {
  await browser?.close()
  pages?.close()
})

/** The front is in the middle. Each direction has a quarter of the width, and the poles are above and below 45°. */
async function makeVideo(path: string) {
  const hex = (color: Color) => `0x${Buffer.from(colors[color]).toString('hex')}`
  const box = (x: number, y: number, width: number, height: number, color: Color, more = '') =>
    `drawbox=${x}:${y}:${width}:${height}:${hex(color)}:fill${more}`
  const boxes = [
    box(64, 0, 128, 256, 'yellow'),
    box(192, 0, 128, 256, 'red', `:enable='lt(t,0.5)'`),
    box(192, 0, 128, 256, 'magenta', `:enable='gte(t,0.5)'`),
    box(320, 0, 128, 256, 'green'),
    box(0, 0, 512, 64, 'white'),
    box(0, 192, 512, 64, 'black'),
  ]
  const encoder = ['-c:v', 'libx264', '-preset', 'ultrafast', '-crf', '10', '-pix_fmt', 'yuv420p']
  const input = ['-f', 'lavfi', '-i', `color=${hex('blue')}:s=512x256:r=20:d=1,format=gbrp`]
  // With the index at the start, the browser needs no range requests.
  await ffmpeg(...input, '-vf', boxes.join(), ...encoder, '-movflags', '+faststart', path)
}

type Opened = {
  page: Page
  cdp: CDPSession
  run<T>(code: string): Promise<T>
  /** Reads the colors of pixels on the screen. Positions in the host are from 0 to 1. */
  look(...positions: [x: number, y: number][]): Promise<Color[]>
  /** Waits until the middle of the screen has this color. */
  sees(color: Color): Promise<void>
  keys(...keys: string[]): Promise<void>
}

async function open(t: TestContext, before = '', options: BrowserContextOptions = {}): Promise<Opened> {
  const context = await browser!.newContext({
    viewport: { width: size.width, height: size.height + 40 },
    // For the device orientation. A headless browser grants nothing by itself.
    permissions: ['accelerometer', 'gyroscope', 'magnetometer'],
    ...options,
  })
  t.after(() => context.close())
  const page = await context.newPage()
  const errors: string[] = []
  page.on('pageerror', ({ message }) => errors.push(message))
  t.after(() => assert.deepEqual(errors, []))
  await page.goto(`${pages.url}?before=${encodeURIComponent(before)}`)
  await page.waitForFunction('window.view && video.readyState >= 2')
  const run = <T>(code: string) => page.evaluate(code) as Promise<T>
  const look = async (...positions: [number, number][]) => {
    const png = (await page.screenshot()).toString('base64')
    const seen = await run<number[][]>(`(async () => {
      const bytes = Uint8Array.from(atob('${png}'), (each) => each.charCodeAt(0))
      const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }))
      const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d')
      context.drawImage(bitmap, 0, 0)
      const { data, width } = context.getImageData(0, 0, bitmap.width, bitmap.height)
      const scale = width / innerWidth
      return ${JSON.stringify(positions)}.map(([x, y]) => {
        const [column, row] = [x * ${size.width}, y * ${size.height}].map((each) => Math.round(each * scale))
        return [...data.subarray((row * width + column) * 4, (row * width + column) * 4 + 3)]
      })
    })()`)
    return seen.map(nearest)
  }
  return {
    page,
    cdp: await context.newCDPSession(page),
    run,
    look,
    async sees(color) {
      let seen: Color | undefined
      await waitFor(
        async () => {
          seen = (await look([0.5, 0.5]))[0]
          return seen === color
        },
        () => `the middle is ${seen}, not ${color}`,
      )
    },
    async keys(...keys) {
      for (const key of keys) await page.keyboard.press(key)
    },
  }
}

function nearest(seen: readonly number[]): Color {
  const distance = (name: Color) => Math.hypot(...colors[name].map((each, i) => each - seen[i]!))
  const names = Object.keys(colors) as Color[]
  const best = names.reduce((a, b) => (distance(a) <= distance(b) ? a : b))
  assert.ok(distance(best) < 60, `${seen} is not a color of the test video`)
  return best
}

/** Positions from left to right, without the focus ring at the edges. */
const row = (y = 0.5, steps = 48): [number, number][] =>
  Array.from({ length: steps }, (_, i): [number, number] => [i / steps, y]).filter(
    ([x]) => x > 0.02 && x < 0.98,
  )
/** Positions without the edges, which may show other directions. */
const middle = (y?: number) => row(y).filter(([x]) => x > 0.2 && x < 0.8)

type MouseEvents = [type: 'mousePressed' | 'mouseMoved' | 'mouseReleased', x: number, y: number][]

/** Sends mouse events whose timestamps are 16 ms apart, even on a busy machine. The last one was `secondsAgo`. */
async function useMouse({ cdp }: Opened, events: MouseEvents, secondsAgo = 0) {
  const end = Date.now() / 1000 - secondsAgo
  for (const [i, [type, x, y]] of events.entries()) {
    const timestamp = end - (events.length - i) * 0.016
    const buttons = type === 'mouseReleased' ? 0 : 1
    const event = { type, x, y, timestamp, button: 'left', buttons, clickCount: 1 } as const
    await cdp.send('Input.dispatchMouseEvent', event)
  }
}

const drag = (opened: Opened, x: number, y: number) =>
  useMouse(opened, [
    ['mousePressed', 240, 180],
    ...[1, 2, 3, 4, 5, 6].map((i): MouseEvents[number] => [
      'mouseMoved',
      240 + (x * i) / 6,
      180 + (y * i) / 6,
    ]),
    ['mouseReleased', 240 + x, 180 + y],
  ])

const click: MouseEvents = [
  ['mousePressed', 240, 180],
  ['mouseReleased', 240, 180],
]

const doubleClick = (opened: Opened) => useMouse(opened, [...click, ...click])

/** Waits until the view has been drawn again. */
const nextFrame = ({ run }: Opened) =>
  run('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')

/** Waits until nothing has been drawn for several animation frames. */
const rests = ({ run }: Opened) =>
  run(`new Promise((done) => {
    let [seen, still] = [draws, 0]
    requestAnimationFrame(function next() {
      still = draws === seen ? still + 1 : 0
      seen = draws
      if (still > 10) done()
      else requestAnimationFrame(next)
    })
  })`)

describe('the 360° view', { skip }, () => {
  test('starts at the front, turns with the arrow keys, and shows no seam at the back', async (t) => {
    const opened = await open(t)
    const { sees, look, keys, page, run } = opened
    await sees('red')
    // The field of view is 90°, so only the front is visible.
    assert.deepEqual([...new Set(await look(...row()))], ['red'])

    await page.keyboard.press('Tab')
    assert.equal(await run('document.activeElement.getAttribute("role")'), 'application')
    assert.match(await run('document.activeElement.getAttribute("aria-label")'), /arrow keys/)
    assert.equal(await run('document.querySelector(".panorama > div").checkVisibility()'), true)
    const quarter = (key: string) => Array<string>(12).fill(key)
    for (const [key, color] of [
      ['ArrowRight', 'green'],
      ['ArrowRight', 'blue'],
    ] as const) {
      await keys(...quarter(key))
      await sees(color)
    }
    for (const y of [0.1, 0.5, 0.9]) assert.deepEqual([...new Set(await look(...row(y)))], ['blue'])
    // Every pixel where the two edges of the video meet. The view is tilted, because a GPU samples blocks of 2×2 pixels.
    await keys(...Array<string>(5).fill('+'), 'ArrowRight', 'ArrowUp')
    await nextFrame(opened)
    const rows = Array.from({ length: 30 }, (_, i) => row(0.4 + i / size.height, size.width))
    assert.deepEqual([...new Set(await look(...rows.flat()))], ['blue'])
    await keys('Home', ...quarter('ArrowRight'), ...quarter('ArrowRight'))
    await keys(...quarter('ArrowRight'))
    await sees('yellow')
    await keys(...quarter('ArrowUp'), 'ArrowUp', 'ArrowUp')
    await sees('white')
    assert.deepEqual([...new Set(await look(...middle(0.2), ...middle(), ...middle(0.8)))], ['white'])
    await keys(...quarter('ArrowDown'), ...quarter('ArrowDown'), 'ArrowDown')
    await sees('black')
    await keys('Home')
    await sees('red')
    assert.deepEqual(
      (await run<string[]>('reached')).filter((key) => key !== 'Tab'),
      [],
    )
    await keys('k')
    assert.ok((await run<string[]>('reached')).includes('k'), 'other keys reach the page')
  })

  test('follows the mouse, zooms, and returns to the front on a double click', async (t) => {
    const opened = await open(t, '', { reducedMotion: 'reduce' })
    const { sees, look, page, keys, run } = opened
    await sees('red')
    // A drag to the left shows the right side, about one radian away.
    await drag(opened, -230, 0)
    await sees('green')
    await drag(opened, 230, 0)
    await sees('red')
    await drag(opened, 0, 170)
    await drag(opened, 0, 170)
    await sees('white')
    assert.equal(await run('video.paused'), true, 'a drag is not a click')
    // On a busy machine the video may play for long between the clicks. At its end it would pause by itself.
    await run('video.loop = true')
    await doubleClick(opened)
    assert.equal(await run('video.paused'), true, 'the second click undoes the first')
    await run('video.currentTime = 0')
    await sees('red')

    assert.deepEqual(await look([0.03, 0.5], [0.97, 0.5]), ['red', 'red'])
    await page.mouse.wheel(0, 1000)
    await waitFor(async () => (await look([0.97, 0.5]))[0] === 'green')
    // With a field of view of 100°, the angle of 45° is at tan 45° / tan 50° of the half width.
    const edge = Math.tan(Math.PI / 4) / Math.tan((50 / 180) * Math.PI) / 2
    const positions: [number, number][] = [-edge - 0.02, -edge + 0.02, edge - 0.02, edge + 0.02].map((x) => [
      0.5 + x,
      0.5,
    ])
    assert.deepEqual(await look(...positions), ['yellow', 'red', 'red', 'green'])
    await page.locator('canvas').focus()
    await keys('+', '+')
    await waitFor(async () => (await look([0.97, 0.5]))[0] === 'red')
    await keys('-', '-', '-')
    await waitFor(async () => (await look([0.97, 0.5]))[0] === 'green')
  })

  test('glides after a fling, but not with reduced motion', async (t) => {
    const opened = await open(t)
    const { page, run, sees } = opened
    await sees('red')
    // The drag alone turns the view by 29°, and the green side begins at 45°.
    await drag(opened, -120, 0)
    await sees('green')
    await page.emulateMedia({ reducedMotion: 'reduce' })
    await page.locator('canvas').press('Home')
    await rests(opened)
    await drag(opened, -120, 0)
    await nextFrame(opened)
    const dragged = await run<number>('draws')
    await rests(opened)
    assert.equal(await run('draws'), dragged)
    await sees('red')
  })

  test('a click plays the video, the next one pauses it, and a still view is not drawn again', async (t) => {
    const opened = await open(t)
    const { page, sees, run } = opened
    await sees('red')
    await rests(opened)
    await page.mouse.click(240, 180)
    await sees('magenta')
    await page.waitForFunction('video.ended')
    await rests(opened)
    // The video does not end before the second click.
    await run('video.loop = true; video.currentTime = 0.1')
    await sees('red')
    // The timestamps of the two clicks are too far apart for a double click, which would pause and continue.
    await useMouse(opened, click, 0.4)
    await page.waitForFunction('!video.paused')
    await page.mouse.click(240, 180)
    await page.waitForFunction('video.paused')
  })

  test('one finger turns the view, and two fingers zoom', async (t) => {
    const opened = await open(t, '', { hasTouch: true, isMobile: true, reducedMotion: 'reduce' })
    const { sees, look, cdp, run } = opened
    await sees('red')
    const touch = (type: string, ...points: [x: number, y: number][]) =>
      cdp.send('Input.dispatchTouchEvent', {
        type: type as 'touchStart',
        touchPoints: points.map(([x, y], id) => ({ x, y, id })),
      })
    await touch('touchStart', [400, 180])
    for (let x = 400; x >= 160; x -= 40) await touch('touchMove', [x, 180])
    await touch('touchEnd')
    await sees('green')
    await touch('touchStart', [160, 180])
    for (let x = 160; x <= 400; x += 40) await touch('touchMove', [x, 180])
    await touch('touchEnd')
    await sees('red')
    await touch('touchStart', [100, 180], [380, 180])
    for (let i = 0; i <= 50; i += 10) await touch('touchMove', [100 + i, 180], [380 - i, 180])
    await touch('touchEnd')
    await waitFor(async () => (await look([0.03, 0.5]))[0] === 'yellow')
    assert.deepEqual(await look([0.5, 0.5], [0.97, 0.5]), ['red', 'green'])
    assert.equal(await run('video.paused'), true)
  })

  test('follows the device orientation from the front, and a drag adds to it', async (t) => {
    const opened = await open(t, '', { reducedMotion: 'reduce' })
    const { sees, cdp, page, run } = opened
    const hold = (alpha: number, beta: number, gamma: number) =>
      cdp.send('DeviceOrientation.setDeviceOrientationOverride', { alpha, beta, gamma })
    assert.equal(await run('document.querySelector("button")'), null)
    await hold(200, 10, 0)
    await sees('black')
    await hold(200, 90, 0)
    await sees('red')
    await hold(290, 90, 0)
    await sees('yellow')
    await drag(opened, -230, 0)
    await drag(opened, -140, 0)
    await sees('red')
    await hold(290, 10, 0)
    await sees('black')
    await hold(290, 90, 0)
    await page.locator('canvas').focus()
    await page.keyboard.press('Home')
    await hold(200, 90, 0)
    await sees('green')
  })

  test('shows a button where the device orientation needs permission', async (t) => {
    const options = { hasTouch: true, isMobile: true }
    const asked = `DeviceOrientationEvent.requestPermission = async () => 'granted'`
    const { page, cdp, sees, run } = await open(t, asked, options)
    // Landscape: the screen is rotated by 90°.
    assert.equal(await run('screen.orientation.angle'), 90)
    const hold = (alpha: number, gamma: number) =>
      cdp.send('DeviceOrientation.setDeviceOrientationOverride', { alpha, beta: 0, gamma })
    await sees('red')
    await page.getByRole('button', { name: 'Move the device to look around' }).tap()
    await page.waitForFunction(`!document.querySelector('button')`)
    assert.equal(await run('document.activeElement.localName'), 'canvas')
    assert.equal(await run('video.paused'), true)
    await hold(0, -10)
    await sees('black')
    await hold(90, -85)
    await sees('yellow')
  })

  test('fills its host after a resize, with a pixel ratio of at most 2', async (t) => {
    const opened = await open(t, '', { deviceScaleFactor: 3 })
    await opened.sees('red')
    const canvasSize = () =>
      opened.run<number[]>('(({ width, height }) => [width, height])(document.querySelector("canvas"))')
    assert.deepEqual(await canvasSize(), [size.width * 2, size.height * 2])
    await opened.run(`host.style.width = '240px'`)
    await waitFor(async () => (await canvasSize())[0] === 480)
    assert.deepEqual(await opened.look([0.25, 0.5], [0.25, 0.2], [0.75, 0.5]), ['red', 'red', 'gray'])
  })

  test('draws again after the WebGL context was lost', async (t) => {
    const { sees, run } = await open(t)
    await sees('red')
    await run(
      `window.lost = document.querySelector('canvas').getContext('webgl2').getExtension('WEBGL_lose_context')`,
    )
    await run('lost.loseContext()')
    await sees('gray')
    await run('lost.restoreContext()')
    await sees('red')
  })

  test('works with WebGL 1, with a video above the texture limit and without requestVideoFrameCallback', async (t) => {
    const { sees, run, look, keys, page } = await open(
      t,
      `const open = HTMLCanvasElement.prototype.getContext
       HTMLCanvasElement.prototype.getContext = function (type, ...args) {
         return type === 'webgl2' ? null : open.call(this, type, ...args)
       }
       const ask = WebGLRenderingContext.prototype.getParameter
       WebGLRenderingContext.prototype.getParameter = function (name) {
         return name === this.MAX_TEXTURE_SIZE ? 100 : ask.call(this, name)
       }
       const take = WebGLRenderingContext.prototype.texImage2D
       let widest = 0
       WebGLRenderingContext.prototype.texImage2D = function (...args) {
         widest = Math.max(widest, args.at(-1).videoWidth ?? args.at(-1).width)
         take.apply(this, args)
       }
       delete HTMLVideoElement.prototype.requestVideoFrameCallback`,
    )
    await sees('red')
    assert.equal(await run('widest'), 100)
    await page.locator('canvas').focus()
    await keys(...Array<string>(24).fill('ArrowRight'))
    await sees('blue')
    assert.deepEqual([...new Set(await look(...middle()))], ['blue'])
    await keys('Home')
    await run('void video.play()')
    await sees('magenta')
  })

  test('leaves the video unchanged without WebGL', async (t) => {
    const { run } = await open(t, 'HTMLCanvasElement.prototype.getContext = () => null')
    assert.equal(await run('host.children.length'), 1)
    assert.equal(await run('host.getAttribute("style") || ""'), '')
    await run('view.destroy()')
  })

  test('destroy removes the view and stops drawing', async (t) => {
    const opened = await open(t)
    const { sees, run, cdp } = opened
    await sees('red')
    await run('view.destroy()')
    await run('view.destroy()')
    assert.equal(await run('host.children.length'), 1)
    assert.equal(await run('host.style.position'), '')
    await sees('gray')
    const before = await run('draws')
    await run('void video.play()')
    await cdp.send('DeviceOrientation.setDeviceOrientationOverride', { alpha: 0, beta: 20, gamma: 0 })
    await opened.page.waitForFunction('video.currentTime > 0.3')
    assert.equal(await run('draws'), before)
  })
})
