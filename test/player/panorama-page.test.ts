import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser, skip } from '../support/browser/browser.ts'
import { call, kinora, productionKey, type Service, temporaryFolder, waitFor } from '../support/harness.ts'
import { ffmpeg } from '../support/media/media.ts'
import { uploadVideo, waitForEncoding } from '../support/videos.ts'

// The player page of a 360° video. The front is red, the right is green, and the rest is blue.

const ends: (() => unknown)[] = []
let service: Service
let browser: Browser | undefined
let videoId: string

before(async () => {
  if (skip) return
  const source = join(await temporaryFolder({ after }), 'source.mp4')
  const boxes = 'drawbox=240:0:160:320:red:fill,drawbox=400:0:160:320:green:fill'
  const encoder = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p']
  await ffmpeg('-f', 'lavfi', '-i', 'color=blue:s=640x320:r=10:d=2', '-vf', boxes, ...encoder, source)
  service = await kinora({ after: (end) => ends.push(end) })
  videoId = await uploadVideo(service, source, { title: 'All around', mp4Support: false })
  await waitForEncoding(service, videoId)
  const url = `${service.url}/videos/${videoId}`
  const updated = await call(url, { method: 'PATCH', key: productionKey, json: { panoramic: true } })
  assert.equal(updated.status, 200, updated.text)
  browser = await launchBrowser(['--enable-unsafe-swiftshader', '--autoplay-policy=no-user-gesture-required'])
})
after(async () => {
  await browser?.close()
  for (const end of ends) await end()
})

/** Reads the color of a pixel that no control covers. */
async function colorOf(page: Page): Promise<string> {
  const clip = { x: 200, y: 120, width: 1, height: 1 }
  const png = (await page.screenshot({ clip })).toString('base64')
  const [red, green, blue] = (await page.evaluate(`(async () => {
    const bytes = Uint8Array.from(atob('${png}'), (each) => each.charCodeAt(0))
    const context = new OffscreenCanvas(1, 1).getContext('2d')
    context.drawImage(await createImageBitmap(new Blob([bytes])), 0, 0)
    return [...context.getImageData(0, 0, 1, 1).data]
  })()`)) as [number, number, number, number]
  if (red > 200 && green < 60) return 'red'
  if (green > 90 && red < 60 && blue < 60) return 'green'
  return blue > 200 && red < 60 ? 'blue' : `${red} ${green} ${blue}`
}

async function waitForColor(page: Page, color: string) {
  let seen = ''
  await waitFor(
    async () => {
      seen = await colorOf(page)
      return seen === color
    },
    () => `the screen is ${seen}, not ${color}`,
  )
}

describe('the page of a 360° video', { skip }, () => {
  test('shows the front, and a drag and the arrow keys turn the view without a seek', async (t) => {
    const viewport = { width: 640, height: 360 }
    const page = await browser!.newPage({ viewport, reducedMotion: 'reduce' })
    t.after(() => page.close())
    const errors: string[] = []
    page.on('pageerror', ({ message }) => errors.push(message))
    await page.goto(`${service.url}/vod/${videoId}#loop`)
    const evaluate = (expression: string) =>
      page.evaluate(`(() => {
      const video = document.querySelector('video')
      return ${expression}
    })()`)
    const until = (condition: string) =>
      waitFor(
        async () => (await evaluate(condition)) === true,
        () => condition,
      )
    const canvas = page.getByRole('application', { name: /360° video/ })
    const hint = page.getByText('drag to look around')
    await hint.waitFor()
    await canvas.click({ position: { x: 200, y: 120 } })
    await until('video.currentTime > 0')
    await canvas.click({ position: { x: 200, y: 120 } })
    await until('video.paused')
    await waitForColor(page, 'red')

    await page.mouse.move(500, 120)
    await page.mouse.down()
    await page.mouse.move(60, 120, { steps: 5 })
    await page.mouse.up()
    await waitForColor(page, 'green')
    assert.equal(await evaluate('video.paused'), true, 'a drag is not a click')
    assert.equal(await hint.count(), 0)

    const before = await evaluate('video.currentTime')
    await canvas.focus()
    for (let i = 0; i < 12; i++) await page.keyboard.press('ArrowRight')
    await waitForColor(page, 'blue')
    await page.keyboard.press('Home')
    await waitForColor(page, 'red')
    assert.equal(await evaluate('video.currentTime'), before)
    await page.keyboard.press('k')
    await until('!video.paused')
    await page.reload()
    await canvas.waitFor()
    assert.equal(await hint.count(), 0, 'viewers are told once')
    assert.deepEqual(errors, [])
  })
})
