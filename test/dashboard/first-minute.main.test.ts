import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
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

// From the login link to a playing video, as somebody does who has never seen Kinora.

const execute = promisify(execFile)

describe('the first minute', { skip }, () => {
  const service: Service = sharedKinora(withoutThumbnails())
  let browser: Browser
  before(async () => {
    browser = (await launchBrowser(['--autoplay-policy=no-user-gesture-required']))!
  })
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

  test('leads from the login link to a key, a playing video and its embed code', async (t) => {
    const clip = join(await temporaryFolder(t), 'clip.mp4')
    await makeClip(clip, { size: '320x180', seconds: 2, audioCodec: 'aac' })
    const { page, errors } = await openByLink()
    t.after(() => page.close())

    await page.getByRole('button', { name: 'Create key' }).click()
    const code = page.getByRole('tabpanel').locator('code')
    await page.getByText('It is not shown again').waitFor()
    const key = (await page
      .getByRole('region', { name: /Get an API key/ })
      .locator('code')
      .textContent())!
    assert.ok((await code.textContent())!.includes(key))
    assert.equal((await call(`${service.url}/videos`, { key })).status, 200)

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

    const [video] = (await call(`${service.url}/videos`)).body.data
    assert.equal(video.title, basename(name, '.mp4'))
    assert.equal(
      await page
        .getByRole('region', { name: /Put it on your page/ })
        .locator('code')
        .textContent(),
      video.assets.iframe,
    )
    // The steps stay open while they are followed, and are closed at the next visit.
    await page.getByRole('heading', { name: 'Recent videos' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.getByRole('button', { name: 'First steps' }).click()
    await page.getByRole('heading', { name: /Do the same with code/ }).waitFor()
    assert.ok(!(await page.content()).includes(key), 'the key is shown once')
    assert.equal(await page.evaluate('window.hacked'), undefined)
    assert.deepEqual(errors, [])
  })

  test('an address that cannot be fetched is explained', async (t) => {
    const { page } = await openByLink()
    t.after(() => page.close())
    const field = page.getByLabel('Video URL')
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
