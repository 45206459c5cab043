import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { skip } from '../support/browser/browser.ts'
import { dashboardBrowser } from '../support/browser/dashboard-page.ts'
import { assertSource, call, MiB, sharedKinora, timeoutMs, waitFor } from '../support/harness.ts'
import { withoutEncoding } from '../support/programs.ts'
import { createVideo } from '../support/videos.ts'

// What the dashboard sends first of a file, and what it shows of one that is encoded while it is uploaded.

describe('uploads of the dashboard', { skip }, () => {
  const service = sharedKinora(withoutEncoding())
  const opened = dashboardBrowser(service, { reducedMotion: 'reduce' })
  let page: Page
  beforeEach(() => {
    page = opened.page
    page.setDefaultTimeout(timeoutMs)
  })

  const open = (path: string) => page.goto(`${service.url}/dashboard/${path}`)
  const panel = () => page.getByRole('region', { name: 'Uploads' })

  /** Drops a file on the page: each box has a type and a number of bytes, which are equal. */
  async function drop(name: string, boxes: [type: string, bytes: number][]): Promise<Buffer> {
    const dataTransfer = await page.evaluateHandle(`(() => {
      const transfer = new DataTransfer()
      const parts = ${JSON.stringify(boxes)}.map(([type, bytes], index) => {
        const box = new Uint8Array(bytes).fill(index + 1)
        new DataView(box.buffer).setUint32(0, bytes)
        box.set(new TextEncoder().encode(type), 4)
        return box
      })
      transfer.items.add(new File(parts, '${name}', { lastModified: 1 }))
      return transfer
    })()`)
    for (const type of ['dragover', 'drop']) await page.dispatchEvent('main', type, { dataTransfer })
    const contents = boxes.map(([type, bytes], index) => {
      const box = Buffer.alloc(bytes, index + 1)
      box.writeUInt32BE(bytes)
      box.write(type, 4)
      return box
    })
    return Buffer.concat(contents)
  }

  test('the index of an MP4 file is sent before what is in front of it, also after an interruption', async () => {
    await open('production/videos')
    await page.getByText('No videos yet').waitFor()
    const sent: (string | undefined)[] = []
    await page.route('**/source', (route) => {
      const range = route.request().headers()['content-range']
      sent.push(range?.replace(/\/\d+$/, ''))
      return sent.length === 2 ? route.abort() : route.continue()
    })
    const content = await drop('My film.mp4', [
      ['ftyp', 24],
      ['mdat', 39 * MiB],
      ['moov', MiB],
    ])
    // The bytes are no video.
    await panel().getByText('The file is not a video that can be read.').waitFor()
    const indexFrom = content.length - MiB
    const index = `bytes ${indexFrom}-${content.length - 1}`
    assert.deepEqual(sent, [`bytes 0-${16 * MiB - 1}`, index, index, `bytes ${16 * MiB}-${indexFrom - 1}`])
    const { data } = (await call(`${service.url}/videos`)).body
    assert.deepEqual([data.length, data[0].title], [1, 'My film'])
    await assertSource(service.data, data[0].videoId, content)
    await page.unroute('**/source')
  })

  test('a canceled upload in chunks leaves no video', async () => {
    await open('production/videos')
    await page.getByText('No videos yet').waitFor()
    const client = await opened.context.newCDPSession(page)
    const conditions = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: MiB }
    await client.send('Network.emulateNetworkConditions', conditions)
    await drop('film.mov', [
      ['wide', 8],
      ['mdat', 20 * MiB],
      ['moov', MiB],
    ])
    await page.getByRole('gridcell').filter({ hasText: 'film' }).waitFor()
    await panel().getByRole('button', { name: 'Cancel: film.mov' }).click()
    await panel().waitFor({ state: 'hidden' })
    for (const list of ['videos', 'discarded/videos'])
      assert.deepEqual((await call(`${service.url}/${list}`)).body.data, [])
    await client.detach()
  })

  test('shows upload and encoding side by side, and where to watch what is playable', async () => {
    const videoId = await createVideo(service, { title: 'film' })
    const quality = { type: 'hls', quality: '240p', status: 'encoding', progress: 30 }
    const range = { from: 0, to: 39, total: 100 }
    await page.route('**/status', async (route) => {
      const response = await route.fetch()
      const status = await response.json()
      Object.assign(status.encoding, { playable: true, qualities: [quality] })
      status.ingest = { ...status.ingest, status: 'uploading', receivedBytes: [range] }
      await route.fulfill({ response, json: status })
    })
    await open(`production/videos/${videoId}`)
    await page.getByText('Upload 40% · Encoding 30%').waitFor()
    await page.getByText('Already playable.').waitFor()

    const client = await opened.context.newCDPSession(page)
    const conditions = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 50_000 }
    await client.send('Network.emulateNetworkConditions', conditions)
    await drop('other.mp4', [
      ['ftyp', 24],
      ['mdat', MiB],
    ])
    const bar = (name: string) => panel().getByRole('progressbar', { name })
    await waitFor(async () => (await bar('Encoding of other.mp4').getAttribute('aria-valuenow')) === '30')
    assert.equal(await bar('Upload of other.mp4').count(), 1)
    await panel().getByRole('link', { name: 'Watch: other.mp4' }).waitFor()
    await panel().getByRole('button', { name: 'Cancel: other.mp4' }).click()
    await panel().waitFor({ state: 'hidden' })
    await client.detach()
    await page.unroute('**/status')
    assert.deepEqual(opened.errors, [])
  })
})
