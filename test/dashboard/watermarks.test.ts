import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { skip } from '../support/browser/browser.ts'
import { dashboardBrowser, waitForToast } from '../support/browser/dashboard-page.ts'
import { call, sandboxKey, sendFile, sharedKinora } from '../support/harness.ts'
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
  const choose = (...files: [name: string, mimeType: string, buffer: Buffer][]) =>
    page
      .getByLabel('Upload watermark')
      .setInputFiles(files.map(([name, mimeType, buffer]) => ({ name, mimeType, buffer })))

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

  test('are uploaded, shown, and deleted after a confirmation', async () => {
    await open()
    await choose(['logo.png', 'image/png', onePixel], ['more.jpg', 'image/jpeg', onePixel])
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

  test('say which file cannot be one and why, and upload the others', async () => {
    await open()
    const large = Buffer.alloc(9_000_000)
    await choose(
      ['film.mp4', 'video/mp4', onePixel],
      ['large.png', 'image/png', large],
      ['fake.png', 'image/png', Buffer.from('<svg/>')],
      ['good.png', 'image/png', onePixel],
    )
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
