import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { before, describe, type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { skip } from '../support/browser/browser.ts'
import { dashboardBrowser, waitForToast } from '../support/browser/dashboard-page.ts'
import {
  call,
  query,
  sandboxKey,
  sendFile,
  sharedKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { onePixel } from '../support/media/one-pixel.ts'
import { withoutEncoding } from '../support/programs.ts'

describe('the watermarks of the dashboard', { skip }, () => {
  const service = sharedKinora(withoutEncoding())
  const opened = dashboardBrowser(service, { reducedMotion: 'reduce' })
  let page: Page
  before(() => {
    page = opened.page
  })

  const add = async (key?: string): Promise<string> =>
    (await sendFile(`${service.url}/watermarks`, onePixel, { ...(key && { key }) })).body.watermarkId
  const open = async (environment = 'production') => {
    await page.goto(`${service.url}/dashboard/${environment}/watermarks`)
    await page.getByRole('heading', { name: 'Watermarks', exact: true }).waitFor()
  }
  const image = (id: string) => page.getByRole('img', { name: `Image of ${id}` })
  const choose = async (t: TestContext, files: Record<string, Buffer>) => {
    const folder = await temporaryFolder(t)
    const paths = Object.keys(files).map((name) => join(folder, name))
    for (const path of paths) await writeFile(path, files[basename(path)]!)
    await page.getByLabel('Upload watermark').setInputFiles(paths)
  }

  test('follow the environment: the other one neither lists them nor loads their images', async () => {
    const [production, sandbox] = [await add(), await add(sandboxKey)]
    const status = (environment: string, id: string) =>
      page.evaluate<number>(
        `fetch('/dashboard/api/${environment}/watermarks/${id}/image').then(({ status }) => status)`,
      )
    await open('sandbox')
    assert.equal(await status('sandbox', production), 404)
    assert.equal(await status('production', sandbox), 404)
    await image(sandbox).waitFor()
    assert.equal(await image(production).count(), 0)
    await page.getByRole('group', { name: 'Environment' }).getByText('Production').click()
    await image(production).waitFor()
    assert.equal(await image(sandbox).count(), 0)
    await call(`${service.url}/watermarks/${production}`, { method: 'DELETE' })
    // The event of the deletion updates the page.
    await page.getByText('No watermarks yet').waitFor()
  })

  test('are uploaded, shown, and deleted after a confirmation', async (t) => {
    await open()
    await choose(t, { 'logo.png': onePixel, 'more.jpg': onePixel })
    await waitForToast(page, '2 watermarks uploaded')
    const images = page.getByRole('img', { name: /^Image of watermark_/ })
    await images.nth(1).waitFor()
    await page.waitForFunction(
      `[...document.querySelectorAll('main img')].every(({ naturalWidth }) => naturalWidth === 1)`,
    )
    const { body } = await call(`${service.url}/watermarks`)
    assert.equal(body.data.length, 2)
    await page.getByRole('button', { name: `Delete ${body.data[0].watermarkId}` }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
    await waitForToast(page, 'Watermark deleted')
    await image(body.data[0].watermarkId).waitFor({ state: 'detached' })
    assert.equal((await call(`${service.url}/watermarks`)).body.data.length, 1)
  })

  test('are burnt into the videos that are uploaded or imported with them', async () => {
    const id = await add()
    const settingsOf = async (title: string) => {
      const [row] = await query(service.database, 'select watermark from videos where title = $1', [title])
      return row && [row.watermark.id, row.watermark.position, row.watermark.opacity]
    }
    const dialog = page.getByRole('dialog')
    await open()
    await page.getByRole('button', { name: `Use ${id}` }).click()
    await dialog.getByLabel('Position').selectOption({ label: 'Top left' })
    await dialog.getByLabel('Width in %').fill('20')
    await dialog.getByLabel('Opacity in %').fill('80')
    const chooser = page.waitForEvent('filechooser')
    await dialog.getByRole('button', { name: 'Choose videos' }).click()
    await (await chooser).setFiles({
      name: 'branded.mp4',
      mimeType: 'video/mp4',
      buffer: Buffer.from('film'),
    })
    await waitFor(async () => (await settingsOf('branded')) !== undefined)
    const percent = (value: number) => ({ value, unit: '%' })
    assert.deepEqual(await settingsOf('branded'), [
      id,
      { top: percent(2), left: percent(2), width: percent(20) },
      0.8,
    ])

    await page.goto(`${service.url}/dashboard/production/videos`)
    await page.getByRole('button', { name: 'Import from URL' }).click()
    await dialog.getByLabel('File URL').fill('https://example.com/film.mp4')
    await dialog.getByLabel('Title').fill('imported')
    await dialog.getByText('None', { exact: true }).waitFor()
    await image(id).click()
    await dialog.getByRole('button', { name: 'Import', exact: true }).click()
    await waitForToast(page, 'Import started')
    assert.deepEqual(await settingsOf('imported'), [
      id,
      { right: percent(2), bottom: percent(2), width: percent(15) },
      1,
    ])
  })

  test('say which file cannot be one and why, and upload the others', async (t) => {
    await open()
    await choose(t, {
      'film.mp4': onePixel,
      'large.png': Buffer.alloc(9_000_000),
      'fake.png': Buffer.from('<svg/>'),
      'good.png': onePixel,
    })
    await waitForToast(page, 'Watermark uploaded')
    await page.getByRole('alert').nth(2).waitFor()
    assert.deepEqual(await page.getByRole('alert').allInnerTexts(), [
      'film.mp4: Only PNG and JPEG images can be watermarks.',
      'large.png: The file has 9 MB. A watermark can have at most 8 MiB.',
      'fake.png: The file is not a JPEG or PNG image.',
    ])
    assert.deepEqual(opened.errors, [])
  })
})
