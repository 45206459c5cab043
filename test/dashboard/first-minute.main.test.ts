import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser, skip } from '../support/browser/browser.ts'
import { createLink } from '../support/browser/dashboard.ts'
import {
  call,
  productionKey,
  type Service,
  sharedKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { makeClip } from '../support/media/media.ts'
import { withoutThumbnails } from '../support/programs.ts'
import { clearSessions, insertSessions } from '../support/session-rows.ts'

// From the login link to a playing video, as somebody does who has never seen Kinora.

const execute = promisify(execFile)

describe('the first minute', { skip }, () => {
  const service: Service = sharedKinora(withoutThumbnails())
  let browser: Browser
  before(async () => {
    browser = (await launchBrowser(['--autoplay-policy=no-user-gesture-required']))!
  })
  beforeEach(() => clearSessions(service.database))
  after(() => browser?.close())

  async function openByLink(): Promise<{ page: Page; errors: string[] }> {
    const page = await browser.newPage({
      viewport: { width: 1280, height: 900 },
      reducedMotion: 'reduce',
    })
    const errors: string[] = []
    page.on('pageerror', ({ message }) => errors.push(message))
    page.on('console', (message) => {
      if (message.text().includes('Content Security Policy')) errors.push(message.text())
    })
    await page.goto(`${service.url}/dashboard/login#link=${await createLink(service.database)}`)
    await page.getByLabel('New password').fill('a long password')
    await page.getByRole('button', { name: 'Save password' }).click()
    await page.getByRole('heading', { name: 'Get started' }).waitFor()
    return { page, errors }
  }

  /** Drags a file onto the page. */
  async function drop(page: Page, path: string, name: string): Promise<void> {
    const content = (await readFile(path)).toString('base64')
    const dataTransfer = await page.evaluateHandle(
      `(() => {
        const transfer = new DataTransfer()
        const bytes = Uint8Array.from(atob('${content}'), (c) => c.charCodeAt(0))
        transfer.items.add(new File([bytes], ${JSON.stringify(name)}, { type: 'video/mp4' }))
        return transfer
      })()`,
    )
    await page.dispatchEvent('body', 'drop', { dataTransfer })
  }

  const step = (page: Page, title: string) => page.getByRole('listitem').filter({ hasText: title })
  const isDone = (page: Page, title: string) => step(page, title).getByText('(Done)').waitFor()

  test('leads from the login link to a playing video, its embed code and a key', async (t) => {
    const clip = join(await temporaryFolder(t), 'clip.mp4')
    await makeClip(clip, { size: '320x180', seconds: 2, audioCodec: 'aac' })
    const { page, errors } = await openByLink()
    t.after(() => page.close())

    const name = '<img src=x onerror=window.hacked=1>.mp4'
    await drop(page, clip, name)
    const player = page.getByTitle(/^Player:/)
    await player.waitFor({ timeout: 0 })
    // From the origin of the page, and not counted as a viewer.
    assert.match((await player.getAttribute('src'))!, /^\/vod\/vi\w+#analytics:false$/)
    const frame = (await (await player.elementHandle())!.contentFrame())!
    await frame.waitForSelector('media-controller video', { state: 'attached', timeout: 0 })
    await frame.evaluate(`document.querySelector('video').play()`)
    await waitFor(async () => (await frame.evaluate(`document.querySelector('video').currentTime`)) !== 0)
    for (const title of ['Upload a video', 'Watch it']) await isDone(page, title)

    const [video] = (await call(`${service.url}/videos`)).body.data
    assert.equal(video.title, basename(name, '.mp4'))
    const embed = step(page, 'Put it on your page')
    assert.equal(await embed.locator('code').textContent(), video.assets.iframe)

    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByText('It is not shown again').waitFor()
    const key = (await step(page, 'Create an API key').locator('code').first().textContent())!
    assert.ok((await page.getByRole('tabpanel').locator('code').textContent())!.includes(key))
    assert.equal((await call(`${service.url}/videos`, { key })).status, 200)

    // The state is that of the service, not that of the page.
    await page.getByRole('heading', { name: 'Latest videos' }).waitFor()
    await page.reload()
    for (const title of ['Upload a video', 'Watch it', 'Create an API key']) await isDone(page, title)
    assert.equal(await embed.getByText('(Done)').count(), 0)
    assert.ok(!(await page.content()).includes(key), 'the key is shown once')
    // Somebody has watched it elsewhere.
    await insertSessions(service.database, [{ media_id: video.videoId, plays: 1 }])
    await page.reload()
    await page.getByRole('heading', { name: 'Latest videos' }).waitFor()
    assert.equal(await page.getByRole('heading', { name: 'Get started' }).count(), 0)
    assert.equal(await page.evaluate('window.hacked'), undefined)
    assert.deepEqual(errors, [])
  })

  /** Notes in the page whenever the focus is on nothing, once it has been somewhere. */
  const watchFocus = `window.lostFocus = []
    addEventListener('focusout', () => setTimeout(() => {
      if (document.hasFocus() && document.activeElement === document.body) lostFocus.push(document.body.innerText.slice(0, 200))
    }, 100))`

  const focused = `(() => {
    const at = document.activeElement
    const { outlineStyle, outlineWidth } = getComputedStyle(at)
    const name = at.getAttribute('aria-label') ?? at.labels?.[0]?.innerText ?? at.innerText ?? ''
    return { name: name.trim(), isVisible: at.matches(':focus-visible') && outlineStyle !== 'none' && outlineWidth !== '0px' }
  })()`

  /** Presses Tab until an element with this name has the focus, which is visible everywhere. */
  async function tabTo(page: Page, name: string, key = 'Tab'): Promise<void> {
    for (let presses = 0; presses < 60; presses++) {
      await page.keyboard.press(key)
      const at = await page.evaluate<{ name: string; isVisible: boolean }>(focused)
      // A frame has its own focus, and Tab leaves it again.
      assert.ok(at.isVisible || at.name === '', `the focus is visible on ${at.name}`)
      if (at.name.startsWith(name)) return
    }
    assert.fail(`${key} does not lead to ${name}`)
  }

  test('needs no mouse, and the focus is never lost', async (t) => {
    const clip = join(await temporaryFolder(t), 'clip.mp4')
    await makeClip(clip, { size: '320x180', seconds: 2, audioCodec: 'aac' })
    const context = await browser.newContext({
      viewport: { width: 1280, height: 900 },
      reducedMotion: 'reduce',
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    t.after(() => context.close())
    const page = await context.newPage()
    // A browser asks for a file by a dialog of its own that tests cannot use. Without it the page uses an input.
    await page.addInitScript(`delete window.showOpenFilePicker; ${watchFocus}`)
    await page.goto(`${service.url}/dashboard/login#link=${await createLink(service.database)}`)
    await page.getByLabel('New password').waitFor()
    await page.keyboard.type('a long password')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Get started' }).waitFor()
    await page.evaluate('lostFocus = []')

    await tabTo(page, 'Drop a video here')
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.keyboard.press('Enter')])
    await chooser.setFiles(clip)
    await page
      .getByRole('progressbar')
      .or(page.getByTitle(/^Player:/))
      .first()
      .waitFor()
    await isDone(page, 'Watch it')
    assert.equal((await page.evaluate<{ name: string }>(focused)).name, 'Drop another video or choose a file')

    await tabTo(page, 'Copy embed code')
    await page.keyboard.press('Enter')
    await isDone(page, 'Put it on your page')
    const [video] = (await call(`${service.url}/videos`)).body.data
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), video.assets.iframe)

    await tabTo(page, 'Key name')
    await page.keyboard.press('Control+A')
    await page.keyboard.type('Website')
    await page.keyboard.press('Enter')
    await page.getByText('It is not shown again').waitFor()
    assert.deepEqual(await page.evaluate(focused), { name: 'Copy key', isVisible: true })
    await page.keyboard.press('Enter')
    await waitFor(async () => /^\w{20,}/.test(await page.evaluate<string>('navigator.clipboard.readText()')))
    const key = await page.evaluate<string>('navigator.clipboard.readText()')
    assert.equal((await call(`${service.url}/videos`, { key })).status, 200)

    await page.getByText('All done.').waitFor()
    await tabTo(page, 'Close', 'Shift+Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Get started' }).waitFor({ state: 'hidden' })
    assert.deepEqual(await page.evaluate(focused), { name: 'Upload', isVisible: true })
    assert.deepEqual(await page.evaluate('lostFocus'), [])

    await page.reload()
    const latest = page.getByRole('region', { name: 'Latest videos' })
    await latest.waitFor()
    assert.equal(await page.getByRole('heading', { name: 'Get started' }).count(), 0)
    await tabTo(page, 'All videos')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.waitForURL(new RegExp(video.videoId))
  })

  test('an address that cannot be fetched is explained', async (t) => {
    const { page } = await openByLink()
    t.after(() => page.close())
    const field = page.getByLabel('Or import from a URL')
    await field.fill('ftp://example.com/film.mp4')
    await page.getByRole('button', { name: 'Import' }).click()
    await page.getByText('Enter an address that starts with http:// or https://.').waitFor()
    assert.equal(await field.inputValue(), 'ftp://example.com/film.mp4')
    await field.fill('http://127.0.0.1/film.mp4')
    await page.getByRole('button', { name: 'Import' }).click()
    await page.getByText('The file was not received.').waitFor()
  })

  test('the code of the page runs as it is', async (t) => {
    const folder = await temporaryFolder(t)
    await writeFile(join(folder, 'video.mp4'), 'not really a video')
    const { page } = await openByLink()
    t.after(() => page.close())
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByText('It is not shown again').waitFor()
    const client = createRequire(import.meta.url).resolve('@api.video/nodejs-client')
    const programs: [string, string, string][] = [
      ['curl', 'sh', 'sample.sh'],
      ['Node', process.execPath, 'sample.mjs'],
      ['Python', 'python3', 'sample.py'],
      ['PHP', 'php', 'sample.php'],
    ]
    const available = programs.filter(([, command]) => !spawnSync(command, ['-v']).error)
    for (const [language, command, file] of available) {
      await page.getByRole('tab', { name: language }).click()
      const source = (await page.getByRole('tabpanel').locator('code').textContent())!
      assert.ok(!source.includes(productionKey))
      // The package is not installed beside the sample.
      const installed = source.replace("'@api.video/nodejs-client'", `'${pathToFileURL(client)}'`)
      await writeFile(join(folder, file), installed)
      await execute(command, [file], { cwd: folder })
      const { data } = (await call(`${service.url}/videos`)).body
      assert.equal(data[0].title, 'My first video')
      const { ingest } = (await call(`${service.url}/videos/${data[0].videoId}/status`)).body
      assert.equal(ingest.status, 'uploaded', language)
    }
    assert.equal((await call(`${service.url}/videos`)).body.pagination.itemsTotal, available.length)
  })
})
