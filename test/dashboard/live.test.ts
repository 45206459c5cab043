import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { newId } from '../../server/lib/ids.ts'
import { assertAccessible } from '../support/browser/accessibility.ts'
import { skip } from '../support/browser/browser.ts'
import { type DashboardBrowser, dashboardBrowser, waitForToast } from '../support/browser/dashboard-page.ts'
import { call, deleteAllVideos, kinora, query, type Service, timeoutMs, waitFor } from '../support/harness.ts'
import { makeSource, RtmpEncoder, rtmpPort } from '../support/live/encoders.ts'
import { createLiveStream } from '../support/live/live-streams.ts'
import { withoutEncoding } from '../support/programs.ts'
import { ago, day, insertSessions } from '../support/session-rows.ts'
import { createViewableVideo, viewing } from '../support/viewings.ts'

// The views of live streams and of viewers, in a real browser.

const hostile = `<img src=x onerror="window.hacked=1">"><script>window.hacked=1</script>`
const formula = '=HYPERLINK("https://evil.example","x")'

const service = {} as Service
let dashboard: DashboardBrowser
let page: Page
const ends: (() => unknown)[] = []

before(async () => {
  if (skip) return
  const env = {
    ...withoutEncoding(),
    KINORA_COUNTRY_HEADER: 'X-Country',
    KINORA_LIVE_RECONNECT_SECONDS: '3600',
  }
  Object.assign(service, await kinora({ after: (end) => ends.push(end) }, env))
})
after(async () => {
  for (const end of ends) await end()
})

/** Starts the browser of a block. */
function startBrowser(): void {
  // Scripts of a test need it. The policy has a test of its own.
  const started = dashboardBrowser(service, { bypassCSP: true, reducedMotion: 'reduce' })
  before(() => {
    dashboard = started
    page = started.page
  })
}

const open = (path: string) => page.goto(`${service.url}/dashboard/${path}`)
const button = (name: string | RegExp) => page.getByRole('button', { name })
/** Confirms the open dialog. */
const confirm = (name: string) => page.getByRole('dialog').getByRole('button', { name, exact: true }).click()
const panel = (name: string | RegExp) => page.getByRole('region', { name })

async function assertHarmless(): Promise<void> {
  assert.equal(await page.evaluate('window.hacked'), undefined)
  assert.deepEqual(dashboard.errors, [])
}

/** Sends a report as a player does. */
async function report(path: 'vod' | 'live', body: object, headers: Record<string, string> = {}) {
  const { status, text } = await call(`${service.url}/collector/${path}`, {
    method: 'POST',
    key: '',
    json: body,
    headers,
  })
  assert.equal(status, 200, text)
}

describe('live streams in the dashboard', { skip }, () => {
  startBrowser()

  test('are created, broadcast, watched, ended and recorded', async (t) => {
    await open('production/live')
    await page.getByText('No live streams yet').waitFor()
    await button('Create live stream').click()
    await page.getByLabel('Name').fill(hostile)
    await confirm('Create')
    await page.waitForURL(/\/live\/li/)
    const id = /li\w+$/.exec(page.url())![0]
    await page.getByRole('heading', { level: 1, name: hostile }).waitFor()
    const stream = (await call(`${service.url}/live-streams/${id}`)).body

    const encoderPanel = panel('Encoder')
    await encoderPanel.getByText(`rtmp://localhost:${rtmpPort(service)}/s`, { exact: true }).waitFor()
    const text = () => page.locator('main').innerText()
    assert.ok(!(await text()).includes(stream.streamKey), 'the key is hidden')
    await button('Show key').click()
    await encoderPanel.getByText(stream.streamKey, { exact: true }).waitFor()
    await page.getByRole('tab', { name: 'SRT' }).click()
    await encoderPanel.getByText(new RegExp(`srt://localhost:\\d+\\?streamid=${stream.streamKey}`)).waitFor()

    // The main action is what has to be done next.
    const main = page.locator('h1').locator('xpath=../..').getByRole('button').first()
    assert.equal(await main.innerText(), 'Copy stream key')

    const encoder = await RtmpEncoder.connect(service, stream.streamKey)
    await encoder.send(makeSource({ seconds: 8 }))
    // An encoder that sends nothing for ten seconds is disconnected.
    const next = makeSource({ seconds: 2 })
    let sentMs = 8_000
    const sending = setInterval(() => {
      encoder.send(next, sentMs).catch(() => {})
      sentMs += 2_000
    }, 2_000)
    t.after(() => clearInterval(sending))
    // The page learns of it by itself.
    await page.locator('h1 + div').getByText('On air').waitFor()
    assert.equal(await main.innerText(), 'Copy link')
    const health = panel('Stream health')
    await health.getByText('160 × 120').waitFor()
    await health.getByText('every 2 s').waitFor()
    await health.getByText(/^2[45](\.\d)? fps$/).waitFor()
    const { event, report: write } = viewing(id, 10_000, { live_stream_id: id, video_id: undefined })
    await report('live', write([event(1, 'play', { at: 0 }), event(9, 'progress', { at: 8 })]))
    // Otherwise the viewer would count for 20 seconds only.
    const keepViewer = `update viewing_sessions set seen_at = now() + interval '1 hour' where media_id = $1`
    await query(service.database, keepViewer, [id])
    await health.locator('div', { hasText: /^Viewers now1$/ }).waitFor()
    await assertAccessible(page, 'a live stream on air')

    await button('Replace key').click()
    await page.getByText('You are on air').waitFor()
    await confirm('Replace key')
    await waitForToast(page, 'Stream key replaced')
    await encoderPanel.getByText(stream.streamKey, { exact: true }).waitFor({ state: 'detached' })
    const { streamKey } = (await call(`${service.url}/live-streams/${id}`)).body
    assert.notEqual(streamKey, stream.streamKey)
    await encoderPanel.getByText(streamKey, { exact: true }).waitFor()

    await createLiveStream(service, { name: 'Newer' })
    await open('production/live')
    const first = page.getByRole('list', { name: 'Live streams' }).getByRole('listitem').first()
    await first.filter({ hasText: 'On air' }).getByText('1 viewer').waitFor()
    await first.getByText('Recording', { exact: true }).waitFor()
    // The card shows what is on air, and renews it.
    const picture = first.locator('img')
    await waitFor(() => picture.evaluate((image) => Reflect.get(image, 'naturalWidth') === 160))
    const shown = await picture.getAttribute('src')
    assert.match(shown!, /\/frame\.jpg\?at=\d+$/)
    await waitFor(async () => (await picture.getAttribute('src')) !== shown)
    // The key / leads to the search, and the arrows to the streams.
    await page.keyboard.press('/')
    await page.keyboard.type('newer')
    await first.getByText('Newer').waitFor()
    await page.getByLabel('Search live streams').fill('')
    await page.getByRole('link', { name: hostile }).waitFor()
    await button('Create live stream').focus()
    await page.keyboard.press('ArrowDown')
    assert.ok((await page.locator(':focus').innerText()).includes(hostile))
    await page.keyboard.press('ArrowRight')
    assert.ok((await page.locator(':focus').innerText()).includes('Newer'))
    await page.getByRole('link', { name: hostile }).click()
    await button('End broadcast').click()
    await page.getByText('the recording is processed').waitFor()
    await confirm('End broadcast')
    await page.locator('h1 + div').getByText('Off air').waitFor()
    clearInterval(sending)
    await encoder.close()
    const link = panel('Broadcasts').getByRole('link', { name: 'Open video' }).first()
    await link.waitFor()
    const [video] = (await call(`${service.url}/videos?liveStreamId=${id}`)).body.data
    assert.equal(await link.getAttribute('href'), `/dashboard/production/videos/${video.videoId}`)

    await open(`sandbox/live/${id}`)
    await page.getByText('Page not found').waitFor()
    await assertHarmless()
  })

  test('that are private are opened by a new link each time, and not by that of the preview', async () => {
    const json = { name: 'Members only', public: false }
    const { liveStreamId: id } = await createLiveStream(service, json)
    await open(`production/live/${id}`)
    const preview = panel('Preview')
    const links = [await preview.locator('iframe').getAttribute('src')]
    const anchor = preview.getByRole('link', { name: 'Open player' })
    for (const _ of [1, 2]) {
      const link = await anchor.getAttribute('href')
      const [popup] = await Promise.all([page.waitForEvent('popup'), anchor.click()])
      await popup.waitForLoadState()
      assert.equal(await popup.title(), 'Members only')
      links.push(popup.url().slice(service.url.length))
      await popup.close()
      await waitFor(async () => (await anchor.getAttribute('href')) !== link)
    }
    assert.equal(new Set(links.map((link) => link!.split('#')[0])).size, 3, String(links))
    const shared = await panel('Share').locator('pre').first().textContent()
    assert.equal((await fetch(shared!)).status, 200, 'nobody has used the link to give away')
    await assertHarmless()
  })

  test('are changed without overwriting what another window has changed', async () => {
    const json = { name: 'Show', record: true, restreams: [] }
    const { liveStreamId: id } = await createLiveStream(service, json)
    const read = async () => (await call(`${service.url}/live-streams/${id}`)).body
    const change = (body: object) =>
      call(`${service.url}/live-streams/${id}`, { method: 'PATCH', json: body })
    await open(`production/live/${id}`)
    const details = panel('Details')
    const name = details.getByLabel('Name')
    await name.fill('Mine')
    await change({ record: false })
    await details.getByLabel('Record broadcasts').and(page.locator(':not(:checked)')).waitFor()
    await details.getByRole('button', { name: 'Save' }).click()
    await waitForToast(page, 'Changes saved')
    assert.deepEqual([(await read()).name, (await read()).record], ['Mine', false])

    // What is typed before the server answers stays.
    const answer = Promise.withResolvers<void>()
    const path = `**/live-streams/${id}`
    await page.route(path, async (route) => {
      if (route.request().method() === 'PATCH') await answer.promise
      await route.continue()
    })
    await name.fill('Sent')
    const sent = page.waitForRequest((request) => request.method() === 'PATCH')
    await details.getByRole('button', { name: 'Save' }).click()
    await sent
    await name.fill('Typed meanwhile')
    answer.resolve()
    await details.getByRole('button', { name: 'Save', disabled: false }).waitFor()
    assert.equal((await read()).name, 'Sent')
    assert.equal(await name.inputValue(), 'Typed meanwhile')
    await page.unroute(path)

    await name.fill('Not saved')
    await page.getByRole('link', { name: 'Videos' }).click()
    await page.getByText('Leave without saving?').waitFor()
    await confirm('Cancel')
    assert.equal(await name.inputValue(), 'Not saved')

    await name.fill('Mine again')
    await change({ name: 'Theirs' })
    await details.getByText('Changed elsewhere').waitFor()
    assert.equal((await read()).name, 'Theirs')
    await details.getByRole('button', { name: 'Use theirs' }).click()
    assert.equal(await name.inputValue(), 'Theirs')
    await name.fill('Mine at last')
    await change({ name: 'Theirs again' })
    await details.getByText('Changed elsewhere').waitFor()
    await details.getByRole('button', { name: 'Keep mine' }).click()
    await details.getByRole('button', { name: 'Save' }).click()
    await details.getByRole('button', { name: 'Save' }).waitFor({ state: 'detached' })
    assert.equal((await read()).name, 'Mine at last')

    await button('Add restream').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill(hostile)
    await dialog.getByLabel('Server URL').fill('https://live.example.com/app')
    await dialog.getByLabel('Stream key').fill('secret-key')
    await confirm('Save')
    await dialog.getByRole('alert').waitFor()
    assert.equal(await dialog.getByLabel('Name').inputValue(), hostile, 'what was typed stays')
    await dialog.getByLabel('Server URL').fill('rtmp://live.example.com/app')
    const theirs = { name: 'Theirs', serverUrl: 'rtmp://other.example.com/app', streamKey: 'other-key' }
    await change({ restreams: [theirs] })
    await confirm('Save')
    await panel('Restreams').getByText(hostile).waitFor()
    const { restreams } = await read()
    assert.deepEqual(restreams[0], theirs, 'what another window has added stays')
    assert.equal(restreams[1].streamKey, 'secret-key')
    assert.ok(!(await page.locator('main').innerText()).includes('secret-key'))

    // A recording that has failed, as after eight hours without a file store.
    const broadcastId = newId('br')
    await query(
      service.database,
      `insert into broadcasts (id, live_stream_id, environment, record, state, completing, fence, owner_url, lease_until,
         qualities, restreams, started_at, ended_at)
       values ($2, $1, 'production', true, 'ended', false, 1, '', now(), '[]', '[]', now(), now())`,
      [id, broadcastId],
    )
    await query(service.database, `insert into recordings values ($2, 1, 0, 1, 'vi0', 'failed', $1, now())`, [
      hostile,
      broadcastId,
    ])
    await panel('Broadcasts').getByText(hostile).waitFor()
    await panel('Broadcasts').getByRole('button', { name: 'Retry' }).click()
    await waitForToast(page, 'Processing the recording again')

    await panel('Studio links').getByText('No valid links').waitFor()
    await button('Create link').click()
    await page.getByRole('dialog').getByLabel('Can be opened for').selectOption('1 hour')
    await confirm('Create')
    await page
      .getByRole('dialog')
      .getByText(/\/studio\?token=/)
      .waitFor()
    await confirm('Done')
    await panel('Studio links')
      .getByText(/^Expires in/)
      .waitFor()
    await panel('Studio links').getByRole('button', { name: 'Revoke link' }).click()
    await confirm('Revoke link')
    await waitForToast(page, 'Link revoked')
    await panel('Studio links').getByText('No valid links').waitFor()

    // What is deleted cannot be saved any more.
    await name.fill('Not saved')
    await button('More actions').click()
    await page.getByRole('menuitem', { name: 'Delete live stream' }).click()
    await confirm('Delete')
    await page.waitForURL(/\/live$/)
    assert.equal((await call(`${service.url}/live-streams/${id}`)).status, 404)
    await assertHarmless()
  })
})

/** A viewing of 100 seconds of video: two parts, with hostile texts. */
async function watch(videoId: string, viewer: string, { referrer = '', userAgent = '' } = {}) {
  const { event, report: write } = viewing(videoId, 50_000, { referrer, metadata: [{ viewer }] })
  const events = [
    event(1, 'play', { at: 0 }),
    event(11, 'progress', { at: 10 }),
    event(12, 'seek.forward', { from: 11, to: 50 }),
    event(22, 'pause', { at: 60 }),
  ]
  await report('vod', write(events), { 'user-agent': userAgent, 'x-country': 'fr' })
}

/** The content of the file that a button downloads. */
async function download(name: string | RegExp): Promise<string> {
  const [file] = await Promise.all([page.waitForEvent('download'), button(name).click()])
  return readFileSync(await file.path(), 'utf8')
}

describe('viewers in the dashboard', { skip }, () => {
  startBrowser()

  test('are counted, compared and listed, and nothing that they send runs', async () => {
    await open('production/viewers?tag=nobody')
    await page.getByText('No sessions match these filters.').waitFor()
    const videoId = await createViewableVideo(service)
    await call(`${service.url}/videos/${videoId}`, { method: 'PATCH', json: { title: hostile } })
    // Without files: only the duration matters.
    await query(
      service.database,
      `update encodings set plan = plan || '{"rungs": [], "hasSound": false}', media = '{"durationSeconds": 100}'
       where video_id = $1`,
      [videoId],
    )
    await watch(videoId, formula, { referrer: formula, userAgent: hostile })
    await watch(videoId, hostile, { referrer: `javascript:window.hacked=1//${hostile}` })
    await watch(videoId, 'user-17', { referrer: 'https://school.example/course' })
    // In the previous period.
    const before = { media_id: videoId, plays: 1, country: 'FR', loaded_at: ago(9 * day) }
    await insertSessions(service.database, [{ ...before, metadata: { viewer: 'user-17' } }, before])

    await open(`production/viewers?media=${videoId}`)
    const metric = (name: string) => page.locator(`[data-metric=${name}]`)
    await metric('views').getByText('3', { exact: true }).waitFor()
    await metric('watchTime').getByText('1 min').waitFor()
    await metric('averageWatch').getByText('21 sec').waitFor()
    await panel('Countries').getByRole('row', { name: 'Show only France 3 100% +50%' }).waitFor()
    await panel('Top videos and live streams').getByText(hostile).waitFor()
    await panel('Referring sites').getByText('school.example').waitFor()
    const pages = panel('Referring pages')
    await pages.getByText(formula).waitFor()
    assert.equal(await pages.getByRole('link').count(), 1, 'only http and https are links')

    // The chart can be read by keyboard, and as a table.
    const slider = page.getByRole('slider', { name: 'Point in time' })
    await slider.focus()
    assert.match((await slider.getAttribute('aria-valuetext'))!, /: This period 3, Previous period 0$/)
    await page.keyboard.press('ArrowLeft')
    assert.match((await slider.getAttribute('aria-valuetext'))!, /: This period 0, Previous period 0$/)
    await assertAccessible(page, 'the overview')

    const csv = await download('Download CSV: Referring pages')
    assert.ok(csv.includes(`"'=HYPERLINK(""https://evil.example"",""x"")",1,0,\r\n`), csv)

    await pages.getByRole('button', { name: 'Show only https://school.example/course' }).click()
    await metric('views').getByText('1', { exact: true }).waitFor()
    assert.equal(new URL(page.url()).searchParams.get('referrer'), 'https://school.example/course')
    await page.goBack()
    await metric('views').getByText('3', { exact: true }).waitFor()

    await page.getByRole('tab', { name: 'Retention' }).click()
    await page
      .getByText('Of 3 played sessions, 100% watched the start, 100% the middle and 0% the end.')
      .waitFor()
    await assertAccessible(page, 'the retention')

    await page.getByRole('tab', { name: 'By metadata' }).click()
    await page.getByRole('button', { name: hostile }).waitFor()
    await page.getByRole('row', { name: /user-17 1 1 .* 0% compared with the previous period/ }).waitFor()
    await assertAccessible(page, 'the breakdown by metadata')
    await page.getByRole('button', { name: 'user-17' }).click()
    await page.getByRole('heading', { name: /Sessions of viewer = user-17/ }).waitFor()
    await page.getByRole('img', { name: 'Watched 0:00 to 0:11, 0:50 to 1:00 of 1:40' }).waitFor()
    await button('Show events').click()
    await page.getByRole('cell', { name: 'from 0:11 to 0:50' }).waitFor()
    await assertAccessible(page, 'the sessions')
    const rows = await download(/Download CSV: Sessions/)
    assert.match(rows, /viewer=user-17/)

    await button('Delete this viewer’s data').click()
    await confirm('Delete')
    await page.getByText('No sessions in this period.').waitFor()
    await assertHarmless()
  })

  test('are counted at the right time if the clock of the browser is wrong', async () => {
    const videoId = await createViewableVideo(service)
    await watch(videoId, 'user-18')
    // The clock is that of all pages of the context.
    const { browser, context } = dashboard
    const other = await browser.newContext({ storageState: await context.storageState() })
    const tab = await other.newPage()
    tab.setDefaultTimeout(timeoutMs)
    for (const days of [1, -1]) {
      await tab.clock.setFixedTime(Date.now() + days * day)
      await tab.goto(`${service.url}/dashboard/production/viewers?period=24h&media=${videoId}`)
      assert.ok(Math.abs((await tab.evaluate<number>('Date.now()')) - Date.now() - days * day) < day / 2)
      await tab.locator('[data-metric=views]').getByText('1', { exact: true }).waitFor()
      await tab.getByRole('tab', { name: 'Sessions' }).click()
      await tab.getByText(/^(\d+ (second|minute)s? ago|now)$/).waitFor()
    }
    await other.close()
  })

  test('are shown on the home page, one view for each session', async () => {
    await query(service.database, 'delete from viewing_sessions')
    await query(service.database, deleteAllVideos)
    const { videoId } = (await call(`${service.url}/videos`, { method: 'POST', json: { title: 'Lesson' } }))
      .body
    const noon = Math.floor(Date.now() / day) * day - day / 2
    const at = (daysBefore: number) => ({ media_id: videoId, loaded_at: new Date(noon - daysBefore * day) })
    const sessions = [0, 0, 2, 5].map((days) => ({ ...at(days), plays: 3 }))
    const others = [at(0), { ...at(8), plays: 1 }]
    await insertSessions(service.database, [...sessions, ...others])
    await open('production')
    const views = panel('Views in the last 7 days')
    await views.getByText('4', { exact: true }).waitFor()
    const days = await views.getByRole('listitem').allInnerTexts()
    assert.deepEqual(
      days.map((text) => Number.parseInt(text, 10)),
      [1, 0, 0, 1, 0, 2, 0],
    )
    await assertAccessible(page, 'the home page')
  })

  test('are listed before anybody is chosen', async () => {
    await query(service.database, 'delete from viewing_sessions')
    await open('production/viewers')
    await page.getByText('No viewers in this period').waitFor()
    assert.equal(await page.locator('[data-metric]').count(), 0, 'there are no zeros')
    const { videoId } = (await call(`${service.url}/videos`, { method: 'POST', json: { title: 'Lesson' } }))
      .body
    await insertSessions(service.database, [
      { media_id: videoId, plays: 1, metadata: { viewer: 'ada' } },
      { media_id: videoId, plays: 1 },
    ])
    await open('production/viewers?tab=sessions')
    const latest = panel('Latest sessions').getByRole('link', { name: 'Lesson' })
    await latest.nth(1).waitFor()
    await page.getByLabel('Value').fill('ada')
    await button('Find sessions').click()
    await panel('Sessions of viewer = ada').getByRole('link', { name: 'Lesson' }).waitFor()
    await open('production/viewers?tab=sessions&media=viDeleted')
    await page.getByText('This video or live stream was deleted').waitFor()
  })

  test('are exported with titles that the page does not show, and a file that is not complete says so', async () => {
    const titles = Array.from({ length: 9 }, (_, i) => `Lesson ${i + 1}`)
    const ids = await Promise.all(
      titles.map(async (title) => {
        const { body } = await call(`${service.url}/videos`, { method: 'POST', json: { title } })
        return body.videoId as string
      }),
    )
    const sessions = ids.map((id) => ({ media_id: id, plays: 1, browser_name: 'firefox' }))
    await insertSessions(service.database, [...sessions, { media_id: 'vi0', plays: 1 }])
    await page.route(/\/data\/buckets\/start\/browser/, async (route) => {
      const response = await route.fetch()
      const json = await response.json()
      await route.fulfill({
        response,
        json: { ...json, pagination: { ...json.pagination, itemsTotal: 6_000 } },
      })
    })
    await open('production/viewers')
    const csv = await download('Download CSV: Top videos and live streams')
    ids.forEach((id, i) => {
      assert.ok(csv.includes(`${titles[i]},${id},1,0,\r\n`), csv)
    })
    assert.ok(csv.includes('Deleted (vi0),vi0,1'), csv)
    const rows = (await download('Download CSV: Browsers')).trim().split('\r\n').slice(1)
    await waitForToast(page, `The file has the first ${rows.length} of 6,000 rows.`)
    await page.unroute(/\/data\/buckets\/start\/browser/)
    await assertHarmless()
  })
})
