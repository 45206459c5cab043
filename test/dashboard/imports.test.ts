import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { skip } from '../support/browser/browser.ts'
import { dashboardBrowser, waitForToast } from '../support/browser/dashboard-page.ts'
import { call, query, sharedKinora, temporaryFolder } from '../support/harness.ts'
import { makeClip } from '../support/media/media.ts'
import { muxToken, startMux } from '../support/services/mux.ts'
import { sendFileContent, startService } from '../support/services/service-server.ts'

describe('the imports of the dashboard', { skip }, () => {
  const service = sharedKinora({ KINORA_ALLOW_PRIVATE_NETWORKS: 'true' })
  const opened = dashboardBrowser(service, { reducedMotion: 'reduce' })
  let page: Page
  before(() => {
    page = opened.page
  })

  const open = async () => {
    await page.goto(`${service.url}/dashboard/production/videos`)
    await page.getByRole('link', { name: 'Import library' }).click()
    await page.getByRole('heading', { name: 'New import' }).waitFor()
  }
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const fact = (name: string) =>
    page
      .locator('dl > div')
      .filter({ has: page.getByText(name, { exact: true }) })
      .locator('dd')
  const state = (name: string) => page.locator('h1 ~ div').getByText(name, { exact: true })

  test('a list of URLs is previewed, imported, and reported', async (t) => {
    const path = join(await temporaryFolder(t), 'clip.mp4')
    await makeClip(path, { size: '64x48', rate: '5', seconds: 1 })
    const file = await readFile(path)
    const server = await startService((exchange) =>
      exchange.path === '/film.mp4'
        ? sendFileContent(exchange, file)
        : void exchange.response.writeHead(404).end(),
    )
    t.after(server.close)
    await open()
    await page.getByLabel('Import from').selectOption('List of URLs')
    await page.getByLabel('URLs of files').fill('ftp://example.com/film.mp4')
    await button('Preview').click()
    await page.getByText('must be an http or https URL').waitFor()
    await page.getByLabel('URLs of files').fill(`${server.url}/film.mp4\n${server.url}/gone.mp4`)
    await button('Preview').click()
    await state('Preview').waitFor()
    assert.equal(await fact('Videos').innerText(), '2')
    await page.getByRole('cell', { name: 'gone' }).waitFor()
    assert.deepEqual((await call(`${service.url}/videos`)).body.data, [])

    await button('Start import').click()
    await waitForToast(page, 'Import started')
    await state('Completed').waitFor()
    // What has failed is shown first, with its reason.
    await page.getByText('responded with status 404').waitFor()
    await page.getByLabel('Show', { exact: true }).selectOption('All (2)')
    await page.getByRole('link', { name: 'film' }).waitFor()
    const link = page.getByRole('link', { name: 'Report as CSV' })
    const csv = await page.evaluate<string>(
      `fetch(${JSON.stringify(await link.getAttribute('href'))}).then((response) => response.text())`,
    )
    assert.match(csv, /^kind,sourceId,.*\r\nvideo,http.*film\.mp4,vi\w+,film,done,/)
    await page.getByRole('link', { name: 'film' }).click()
    await page.waitForURL(/\/videos\/vi\w+/)
  })

  test('is paused, resumed and canceled, and its key is nowhere to be read', async (t) => {
    const ready = { status: 'ready', created_at: '1609868768', duration: 7_200 }
    const assets = [{ ...ready, id: 'film', meta: { title: 'A film' }, playback_ids: [] }]
    const mux = await startMux({ file: Buffer.alloc(0), assets })
    t.after(mux.close)
    mux.keepPreparing()
    await open()
    // What was typed for one service is not sent to another one.
    await page.getByLabel('API key').fill('a key')
    await page.getByLabel('Import from').selectOption('Mux')
    await page.getByLabel('Access token id').fill(muxToken.key)
    await page.getByLabel('Access token secret').fill(muxToken.secret)
    // The form has no URL for Mux.
    await page.route('**/dashboard/api/production/imports', async (route) => {
      const body = route.request().postDataJSON()
      assert.deepEqual(Object.keys(body).sort(), [
        'concurrency',
        'dryRun',
        'include',
        'key',
        'secret',
        'service',
      ])
      await route.continue({ postData: JSON.stringify({ ...body, url: mux.url }) })
    })
    await button('Preview').click()
    await state('Preview').waitFor()
    await page.unroute('**/dashboard/api/production/imports')
    assert.match(await fact('Duration').innerText(), /^2\s/)
    assert.equal(await fact('Size').innerText(), 'Not known')
    const answers: Promise<string>[] = []
    page.on('response', (response) => answers.push(response.text().catch(() => '')))
    await button('Start import').click()
    await button('Pause').click()
    await state('Paused').waitFor()
    await button('Resume').click()
    await state('Importing').waitFor()
    await page.getByLabel('Show', { exact: true }).selectOption('Waiting (1)')
    await page.getByText('Waiting until Mux has made the master.').waitFor()
    await button('Cancel import').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel import' }).click()
    await waitForToast(page, 'Import canceled')
    await state('Canceled').waitFor()
    assert.doesNotMatch((await Promise.all(answers)).join(), new RegExp(`${muxToken.secret}|${muxToken.key}`))
    const kept = `select from import_runs where service = 'mux' and credentials is not null`
    assert.equal((await query(service.database, kept)).length, 0)
  })
})
