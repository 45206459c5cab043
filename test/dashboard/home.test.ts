import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { skip } from '../support/browser/browser.ts'
import { dashboardBrowser } from '../support/browser/dashboard-page.ts'
import { call, query, sandboxKey, sharedKinora, timeoutMs } from '../support/harness.ts'
import { ago, day, insertSessions } from '../support/session-rows.ts'
import { createVideo, uploadVideo } from '../support/videos.ts'

// The home page of a service that is used.

/** Runs before the page: notes what moves without being asked to, and long tasks. */
const measure = `window.shifts = []; window.tasks = [0]
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput, sources } of list.getEntries())
      if (!hadRecentInput) shifts.push({ value, of: sources.map(({ node }) => node?.outerHTML?.slice(0, 120)) })
  }).observe({ type: 'layout-shift', buffered: true })
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) tasks.push(Math.round(duration))
  }).observe({ type: 'longtask', buffered: true })`

const sizes = [
  [1280, 800],
  [2560, 1440],
  [360, 740],
] as const

describe('the home page', { skip }, () => {
  // Files are received, but not encoded.
  const service = sharedKinora({ KINORA_ROLES: 'api' })
  const opened = dashboardBrowser(service, { reducedMotion: 'reduce' })
  let page: Page
  beforeEach(async () => {
    page = opened.page
    page.setDefaultTimeout(timeoutMs)
    for (let n = 1; n <= 6; n++) await createVideo(service, { title: `Lesson ${n}` })
  })

  const open = (environment = 'production') => page.goto(`${service.url}/dashboard/${environment}`)
  const panel = (name: string) => page.getByRole('region', { name, exact: true })

  async function failEncoding(): Promise<string> {
    const videoId = await createVideo(service, { title: 'Broken film' })
    await query(
      service.database,
      `insert into encodings (video_id, environment, state, failure, created_at, finished_at)
       values ($1, 'production', 'failed', 'The file contains no video.', now(), now())`,
      [videoId],
    )
    return videoId
  }

  async function failDelivery(state: 'failed' | 'succeeded', status: number): Promise<void> {
    const attempts = JSON.stringify([{ at: new Date(), durationMs: 5, status, answer: null, error: null }])
    await query(
      service.database,
      `insert into deliveries (webhook_id, event_id, state, attempts, created_at)
       select id, 'event', $1, $2::jsonb, now() from webhooks`,
      [state, attempts],
    )
  }

  test('shows only what there is', async () => {
    await open()
    await panel('Latest videos').getByText('Lesson 6').waitFor()
    await panel('Storage')
      .getByText(/ of .* free$/)
      .waitFor()
    await panel('Views in the last 7 days').getByText('No views yet.').waitFor()
    for (const name of ['Needs attention', 'On air', 'In progress', 'Get started'])
      assert.equal(await panel(name).count(), 0, name)
    await page.getByRole('button', { name: 'Upload', exact: true }).waitFor()
    await page.getByRole('link', { name: 'Go live' }).click()
    await page.waitForURL(/\/production\/live/)
  })

  test('shows what fails and what is in progress, as it happens', async () => {
    await open()
    await panel('Latest videos').waitFor()
    await uploadVideo(service, Buffer.from('not encoded here'), { title: 'New film' })
    await panel('In progress')
      .getByRole('link', { name: /New film.*Analyzing the file/s })
      .waitFor()

    const videoId = await failEncoding()
    const attention = panel('Needs attention')
    const failed = attention.getByRole('link', { name: 'Broken film The file contains no video.' })
    await failed.waitFor()

    const json = { url: 'https://hooks.example/', events: ['video.encoding.quality.completed'] }
    await call(`${service.url}/webhooks`, { method: 'POST', json })
    await failDelivery('failed', 503)
    const webhook = attention.getByRole('link', {
      name: /hooks\.example.*The last delivery failed: status 503/,
    })
    await webhook.waitFor()
    await failDelivery('succeeded', 200)
    await webhook.waitFor({ state: 'hidden' })

    await failed.click()
    await page.waitForURL(new RegExp(videoId))
    await open('sandbox')
    await page.getByRole('heading', { name: 'Get started' }).waitFor()
    assert.equal(await attention.count(), 0)
    assert.deepEqual(opened.errors, [])
  })

  test('does not move while it loads', async (t) => {
    const { body } = await call(`${service.url}/videos`)
    const media_id = body.data[0].videoId
    await insertSessions(
      service.database,
      [0, 1, 1, 3].map((n) => ({ media_id, plays: 1, loaded_at: ago(n * day) })),
    )
    // The sandbox has the first steps, with a video that is on its way.
    await uploadVideo({ ...service, key: sandboxKey }, Buffer.from('not encoded here'), {
      title: 'First film',
    })
    for (const environment of ['production', 'sandbox'])
      for (const [width, height] of sizes) {
        const tab = await opened.context.newPage()
        tab.setDefaultTimeout(timeoutMs)
        await tab.setViewportSize({ width, height })
        await tab.addInitScript(measure)
        await tab.goto(`${service.url}/dashboard/${environment}`)
        await tab.getByRole('region', { name: 'Latest videos' }).waitFor()
        await tab
          .getByText(environment === 'sandbox' ? 'Analyzing…' : 'Lesson 6')
          .first()
          .waitFor()
        await tab.waitForLoadState('load')
        await tab.evaluate('new Promise((done) => requestIdleCallback(done))')
        assert.deepEqual(await tab.evaluate('shifts'), [], `${environment} at ${width}`)
        t.diagnostic(
          `${environment} at ${width}: longest task ${await tab.evaluate('Math.max(...tasks)')} ms`,
        )
        await tab.close()
      }
  })
})
