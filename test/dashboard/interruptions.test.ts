import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { skip } from '../support/browser/browser.ts'
import { dashboardBrowser } from '../support/browser/dashboard-page.ts'
import {
  call,
  kinora,
  productionKey,
  type Service,
  sandboxKey,
  settingsOf,
  startKinora,
  timeoutMs,
  waitFor,
} from '../support/harness.ts'
import { createVideo } from '../support/videos.ts'

// What the dashboard does when the server fails or is gone, and with more than usual to upload.

const service = {} as Service
const ends: (() => unknown)[] = []

before(async () => {
  // Nothing is examined or encoded.
  Object.assign(service, await kinora({ after: (end) => ends.push(end) }, { KINORA_ROLES: 'api' }))
})
after(async () => {
  for (const end of ends) await end()
})

/** Starts the service again, at the same address. */
async function start(): Promise<void> {
  const restarted = await startKinora({
    ...settingsOf(service),
    KINORA_ROLES: 'api',
    KINORA_PORT: new URL(service.url).port,
  })
  ends.unshift(() => restarted.stop())
}

describe('the dashboard', { skip }, () => {
  // Animations take CPU time as long as the page waits.
  const opened = dashboardBrowser(service, { reducedMotion: 'reduce' })
  let page: Page
  beforeEach(() => {
    page = opened.page
    page.setDefaultTimeout(timeoutMs)
  })

  const open = (path: string) => page.goto(`${service.url}/dashboard/${path}`)
  const panel = () => page.getByRole('region', { name: 'Uploads' })
  const listed = async (key: string) => (await call(`${service.url}/videos`, { key })).body

  /** Uses the keys of a view. On a busy machine the second key may come too late, so both are repeated. */
  const go = (key: string, path: string) =>
    waitFor(async () => {
      await page.keyboard.press('g')
      await page.keyboard.press(key)
      return page.url().endsWith(path)
    })

  /** Drops files that an expression makes in the page. */
  async function drop(files: string): Promise<void> {
    const dataTransfer = await page.evaluateHandle(`(() => {
      const transfer = new DataTransfer()
      for (const file of ${files}) transfer.items.add(file)
      return transfer
    })()`)
    for (const type of ['dragover', 'drop']) await page.dispatchEvent('main', type, { dataTransfer })
  }

  test('continues by itself after a restart of the server', async () => {
    const size = 400_000
    await open('production/videos')
    await page.getByText('No videos yet').waitFor()
    await page.evaluate('window.isTheSamePage = true')
    const client = await opened.context.newCDPSession(page)
    await client.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput: size / 20,
    })
    await drop(`[new File([new Uint8Array(${size})], 'film.mp4')]`)
    const sent = () =>
      panel().getByRole('progressbar', { name: 'Upload of film.mp4' }).getAttribute('aria-valuenow')
    await waitFor(async () => Number(await sent()) >= 10)
    await service.kill()
    await client.detach()
    await panel().getByText('Connection lost').waitFor()
    await page.getByText('Reconnecting to the server').waitFor()
    // The code of this view has not been loaded yet.
    await go('w', 'production/webhooks')
    await start()
    await page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor()
    await panel().getByText('Processing').waitFor()
    await go('v', 'production/videos')
    await page.getByRole('gridcell').filter({ hasText: 'film' }).waitFor()
    const { data } = await listed(productionKey)
    const { ingest } = (await call(`${service.url}/videos/${data[0].videoId}/status`)).body
    assert.deepEqual([data.length, ingest.status, ingest.filesize], [1, 'uploaded', size])
    // Changes are announced again.
    await createVideo(service, { title: 'made later' })
    await page.getByRole('gridcell').filter({ hasText: 'made later' }).waitFor()
    assert.equal(await page.evaluate('window.isTheSamePage'), true)
    assert.deepEqual(opened.errors, [])
  })

  /** Requests for what the views show. */
  const data = /\/dashboard\/(api|keys|system)\b/
  const failure = 'The database has a problem'
  const problem = JSON.stringify({ type: 'about:blank', title: failure, status: 500 })
  const failed = {
    responseCode: 500,
    responseHeaders: [{ name: 'content-type', value: 'application/problem+json' }],
    body: Buffer.from(problem).toString('base64'),
  }

  test('says in every view why it cannot be loaded, and loads it when that is over', async () => {
    const post = async (path: string, json: object) =>
      (await call(`${service.url}${path}`, { method: 'POST', json })).body
    const videoId = await createVideo(service, { title: 'one' })
    const { liveStreamId } = await post('/live-streams', { name: 'one' })
    const { playerId } = await post('/players', { name: 'one' })
    const webhook = { url: 'https://example.com/', events: ['video.encoding.quality.completed'] }
    const { webhookId } = await post('/webhooks', webhook)
    const paths = [
      ...['', '/videos', `/videos/${videoId}`, '/live', `/live/${liveStreamId}`, '/viewers', '/webhooks'],
      ...[`/webhooks/${webhookId}`, '/themes', `/themes/${playerId}`, '/keys', '/system'],
    ]
    // A request is repeated after some seconds, so several views wait at once. A browser has six connections to a server,
    // and each tab keeps one.
    const work = async () => {
      const tab = await opened.context.newPage()
      tab.setDefaultTimeout(timeoutMs)
      while (paths.length > 0) await assertRecovers(tab, paths.shift()!)
      await tab.close()
    }
    await Promise.all([work(), work(), work(), work()])
  })

  async function assertRecovers(tab: Page, path: string): Promise<void> {
    // A route of Playwright would switch off the cache of the browser, and each view would load and compile all code.
    const client = await opened.context.newCDPSession(tab)
    const answers = [
      (requestId: string) => client.send('Fetch.fulfillRequest', { requestId, ...failed }),
      (requestId: string) =>
        client.send('Fetch.failRequest', { requestId, errorReason: 'ConnectionRefused' }),
    ]
    const proceed = (requestId: string) => client.send('Fetch.continueRequest', { requestId })
    // A page that is left cancels its requests.
    client.on('Fetch.requestPaused', ({ requestId }) => (answers[0] ?? proceed)(requestId).catch(() => {}))
    const patterns = ['api', 'keys', 'system'].map((name) => ({ urlPattern: `*/dashboard/${name}*` }))
    await client.send('Fetch.enable', { patterns })
    await tab.goto(`${service.url}/dashboard/production${path}`)
    const retry = tab.getByRole('button', { name: 'Try again' }).first()
    const alert = tab.getByRole('alert').first()
    for (const reason of [failure, 'Cannot reach the server']) {
      await alert.getByText(reason).waitFor()
      answers.shift()
      // The page may try again by itself first, and the button is gone then.
      const isGone = alert.getByText(reason).waitFor({ state: 'hidden' })
      await Promise.race([retry.click().catch(() => {}), isGone])
    }
    await alert.waitFor({ state: 'hidden' })
    await tab.getByText('Loading…').first().waitFor({ state: 'hidden' })
    await client.detach()
  }

  test('keeps what was typed when it cannot be refreshed', async () => {
    await open('sandbox')
    const field = page.getByLabel('Or import from a URL')
    await field.fill('https://example.com/film.mp4')
    let failures = 0
    await page.route(data, (route) => {
      failures++
      return route.fulfill({ status: 500, contentType: 'application/problem+json', body: problem })
    })
    await createVideo({ ...service, key: sandboxKey }, { title: 'a change' })
    // The request for the newest videos, repeated twice.
    await waitFor(() => failures >= 3)
    await page.unroute(data)
    assert.equal(await field.inputValue(), 'https://example.com/film.mp4')
  })

  test('uploads 500 files, a few at once, and begins with a file of 50 GB', async () => {
    // A view that does not change with each of them.
    await open('sandbox/keys')
    await page.locator('main').getByRole('heading').first().waitFor()
    const before = (await listed(sandboxKey)).pagination.itemsTotal
    await page.evaluate(`(() => {
      const { send } = XMLHttpRequest.prototype
      Object.assign(window, { running: 0, mostAtOnce: 0, largestBody: 0 })
      XMLHttpRequest.prototype.send = function (body) {
        largestBody = Math.max(largestBody, body?.size ?? 0)
        mostAtOnce = Math.max(mostAtOnce, ++running)
        this.addEventListener('readystatechange', () => this.readyState === 4 && running--)
        return send.call(this, body)
      }
    })()`)
    await drop(`Array.from({ length: 500 }, (_, n) => new File([String(n)], n + '.mp4'))`)
    const summary = async () => String(await panel().getByRole('status').textContent())
    await waitFor(async () => (await summary()) === '500 uploads complete', undefined, summary)
    assert.ok((await page.evaluate<number>('mostAtOnce')) <= 3)
    assert.equal((await listed(sandboxKey)).pagination.itemsTotal, before + 500)
    await panel().getByRole('button', { name: 'Clear finished' }).click()
    await panel().waitFor({ state: 'hidden' })

    await page.evaluate('largestBody = 0')
    // Its parts are the same few bytes, so that it takes no memory.
    await drop(`(() => {
      let content = new Blob([new Uint8Array(1024 ** 2)])
      for (const times of [50, 1024]) content = new Blob(Array(times).fill(content))
      return [new File([content], 'huge.mp4')]
    })()`)
    await panel()
      .getByText(/of 5\d(\.\d+)? GB/)
      .waitFor()
    await waitFor(async () => (await page.evaluate<number>('largestBody')) > 0)
    assert.equal(await page.evaluate('largestBody'), 32 * 1024 ** 2)
    await panel().getByRole('button', { name: 'Cancel: huge.mp4' }).click()
    await panel().waitFor({ state: 'hidden' })
    assert.equal((await listed(sandboxKey)).pagination.itemsTotal, before + 500)
    assert.deepEqual(opened.errors, [])
  })
})
