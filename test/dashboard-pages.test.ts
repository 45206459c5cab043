import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { launchBrowser, skip } from './browser.ts'
import { call, patienceMs, root, type Service, sharedKinora } from './harness.ts'
import { createVideo } from './media.ts'
import { withoutEncoding } from './programs.ts'

// Every view of the dashboard: it fits all screens in both colour schemes, has no accessibility findings, loads nothing
// from elsewhere and reports no errors.

const password = 'correct horse'
const sizes = [
  [360, 740],
  [1280, 800],
  [2560, 1440],
] as const
const schemes = ['light', 'dark'] as const
const maxFirstViewBytes = 150 * 1024
const hostile = `<img src=x onerror="window.hacked=1">"><script>window.hacked=1</script>`

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

describe('the dashboard', { skip }, () => {
  const service: Service = sharedKinora({ KINORA_ADMIN_PASSWORD: password, ...withoutEncoding() })
  let browser: Browser
  let context: BrowserContext
  let page: Page
  const errors: string[] = []
  const foreign: string[] = []

  before(async () => {
    browser = (await launchBrowser())!
    // Scripts of a test need it, and the policy has a test of its own.
    context = await browser.newContext({ bypassCSP: true, reducedMotion: 'reduce' })
    page = await context.newPage()
    page.setDefaultTimeout(patienceMs)
    page.on('pageerror', (error) => errors.push(error.message))
    page.on('console', (message) => {
      if (message.type() === 'error' && !/401/.test(message.text())) errors.push(message.text())
    })
    page.on('request', (request) => {
      const { origin, protocol } = new URL(request.url())
      if (origin !== service.url && /^http/.test(protocol)) foreign.push(request.url())
    })
  })
  after(() => browser?.close())

  async function logIn() {
    await page.goto(`${service.url}/dashboard`)
    const field = page.getByLabel('Password')
    await field.or(page.getByRole('navigation')).first().waitFor()
    if (!(await field.isVisible())) return
    await field.fill(password)
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/dashboard\/production/)
  }

  async function createContent(): Promise<string[]> {
    const post = async (path: string, json: object) =>
      (await call(`${service.url}${path}`, { method: 'POST', json })).body
    const metadata = [{ key: hostile.slice(0, 60), value: hostile }]
    const videoId = await createVideo(service, {
      title: hostile,
      description: hostile,
      tags: [hostile],
      metadata,
    })
    const { liveStreamId } = await post('/live-streams', { name: hostile, metadata })
    const { playerId } = await post('/players', { name: hostile.slice(0, 40) })
    const url = `https://example.com/?${encodeURIComponent(hostile)}`
    const { webhookId } = await post('/webhooks', { url, events: ['video.encoding.quality.completed'] })
    return [
      ...['', '/videos', `/videos/${videoId}`, '/live', `/live/${liveStreamId}`, '/viewers', '/webhooks'],
      ...[`/webhooks/${webhookId}`, '/themes', `/themes/${playerId}`, '/keys', '/system', '/nothing'],
    ]
  }

  /** Elements that make the page wider than the screen. */
  const overflow = `(() => {
    const width = document.documentElement.clientWidth
    if (document.documentElement.scrollWidth <= width) return []
    return [...document.querySelectorAll('body *')]
      .filter((each) => each.getBoundingClientRect().right > width + 1)
      .slice(0, 5).map((each) => each.outerHTML.slice(0, 120))
  })()`

  /** Until then, colours and sizes may be those of before. */
  const twoFrames = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))'

  const findings = `axe.run(document, { resultTypes: ['violations'], iframes: false }).then(({ violations }) =>
    violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ html, failureSummary }) => html.slice(0, 160) + ' ' + failureSummary).join(' ')))`

  test('every view fits every screen in both colour schemes, and axe finds nothing serious', async () => {
    const paths = await createContent()
    await logIn()
    for (const path of paths) {
      await page.setViewportSize({ width: 1280, height: 800 })
      await page.goto(`${service.url}/dashboard/production${path}`)
      await page.locator('main').getByRole('heading').first().waitFor()
      await page.waitForFunction(`!document.body.innerText.includes('Loading…')`)
      await page.evaluate(axe)
      for (const [width, height] of sizes) {
        await page.setViewportSize({ width, height })
        await page.evaluate(twoFrames)
        assert.deepEqual(await page.evaluate(overflow), [], `${path} at ${width}`)
      }
      for (const colorScheme of schemes) {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize(
          colorScheme === 'dark' ? { width: 360, height: 740 } : { width: 1280, height: 800 },
        )
        await page.evaluate(twoFrames)
        assert.deepEqual(await page.evaluate(findings), [], `${path} in ${colorScheme}`)
      }
    }
    assert.equal(await page.evaluate('window.hacked'), undefined)
    assert.deepEqual(errors, [])
    assert.deepEqual(foreign, [])
  })

  test('at most 150 KiB are loaded before the first view can be used', () => {
    const dist = join(root, 'web/dashboard/dist')
    const manifest: Record<string, { file: string; imports?: string[]; css?: string[] }> = JSON.parse(
      readFileSync(join(dist, 'manifest.json'), 'utf8'),
    )
    const size = (entries: string[]) => {
      const files = new Set<string>()
      const add = (name: string) => {
        const { file, imports = [], css = [] } = manifest[name]!
        if (files.has(file)) return
        for (const each of [file, ...css]) files.add(each)
        imports.forEach(add)
      }
      entries.forEach(add)
      return [...files].reduce((sum, file) => sum + gzipSync(readFileSync(join(dist, file))).length, 0)
    }
    const views = Object.keys(manifest).filter((name) =>
      /^views\/(login\/login-view|home\/(overview|get-started)|videos\/videos-view)\.tsx$/.test(name),
    )
    assert.equal(views.length, 4)
    for (const view of views) {
      const frame = view.startsWith('views/home/')
        ? ['index.html', 'views/home/home-view.tsx']
        : ['index.html']
      const bytes = size([...frame, view])
      assert.ok(bytes <= maxFirstViewBytes, `${view}: ${bytes} bytes`)
    }
  })
})
