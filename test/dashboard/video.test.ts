import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { languages } from '../../server/videos/languages.ts'
import { spokenLanguages } from '../../web/dashboard/views/videos/video/details/languages.ts'
import { servePages, skip } from '../support/browser/browser.ts'
import { dashboardBrowser, waitForToast } from '../support/browser/dashboard-page.ts'
import {
  call,
  kinora,
  type Service,
  sendFile,
  temporaryFolder,
  timeoutMs,
  waitFor,
} from '../support/harness.ts'
import { makeClip } from '../support/media/media.ts'
import { createVideo, uploadVideo, waitForEncoding } from '../support/videos.ts'

// The page of one video in the dashboard, in a real browser.

const service = {} as Service
/** An encoded video, and its file. */
let videoId: string
let clip: string
const ends: (() => unknown)[] = []

before(async () => {
  const folder = await temporaryFolder({ after })
  clip = join(folder, 'clip.mp4')
  const env = { KINORA_RESTORE_DAYS: '1' }
  Object.assign(service, await kinora({ after: (end) => ends.push(end) }, env))
  await makeClip(clip, { size: '160x90', rate: '25', seconds: 3 })
  videoId = await uploadVideo(service, clip, { title: 'First', tags: ['one'] })
  await waitForEncoding(service, videoId)
})
after(async () => {
  for (const end of ends) await end()
})

const api = (path: string, json?: object, method = json ? 'PATCH' : 'GET') =>
  call(`${service.url}${path}`, { method, ...(json && { json }) })
const stored = async (id = videoId) => (await api(`/videos/${id}`)).body

/** What these tests use of a video element. */
type Video = EventTarget & { currentTime: number }

const save = (page: Page) => page.getByRole('button', { name: 'Save', exact: true }).click()

describe('the page of a video', { skip }, () => {
  const dashboard = dashboardBrowser(service)

  async function open(id: string, tab: string): Promise<{ page: Page; errors: string[] }> {
    const { page, errors } = dashboard
    page.setDefaultTimeout(timeoutMs)
    await page.goto(`${service.url}/dashboard/production/videos/${id}?tab=${tab}`)
    await page.getByRole('tablist').waitFor()
    return { page, errors }
  }

  test('what is edited is stored, and nothing else changes', async () => {
    await createVideo(service, { title: 'Other', tags: ['tutorial'] })
    const before = await stored()
    const { page, errors } = await open(videoId, 'details')
    await page.getByLabel('Title').fill('Second')
    await page.getByLabel('Tags', { exact: true }).fill('tut')
    await page.getByRole('option', { name: 'tutorial' }).click()
    await page.getByRole('button', { name: 'Remove tag one' }).click()
    await page.getByRole('button', { name: 'Add pair' }).click()
    await page.getByLabel('Key of pair 1').fill('viewer')
    await page.getByRole('button', { name: /sets the value of viewer/ }).click()
    // Another tab keeps what was typed.
    await page.getByRole('tab', { name: 'Embed' }).click()
    await page.getByRole('tab', { name: 'Details' }).click()
    await save(page)
    await waitForToast(page, 'Changes saved')
    const { updatedAt, assets, ...saved } = await stored()
    assert.deepEqual(saved, {
      ...Object.fromEntries(Object.entries(before).filter(([name]) => name in saved)),
      title: 'Second',
      tags: ['tutorial'],
      metadata: [{ key: 'viewer', value: '__viewer__' }],
    })
    await page.getByRole('heading', { level: 1, name: 'Second', exact: true }).waitFor()
    const analytics = await page.getByRole('link', { name: 'Analytics' }).getAttribute('href')
    assert.equal(analytics, `/dashboard/production/viewers?media=${videoId}`)
    assert.deepEqual(errors, [])
  })

  test('what another tab changed is shown and never overwritten', async () => {
    const { page } = await open(videoId, 'details')
    await page.getByLabel('Title').fill('Mine')
    await api(`/videos/${videoId}`, { title: 'Theirs', description: 'From another tab' })
    await page.getByText('Changed elsewhere').waitFor()
    assert.equal(await page.getByLabel('Description').inputValue(), 'From another tab')
    assert.equal(await page.getByLabel('Title').inputValue(), 'Mine')
    await save(page)
    await page.getByText('Not saved: someone else').waitFor()
    assert.equal((await stored()).title, 'Theirs')
    await page.getByRole('button', { name: 'Keep mine' }).click()
    await save(page)
    await waitForToast(page, 'Changes saved')
    const { title, description } = await stored()
    assert.deepEqual({ title, description }, { title: 'Mine', description: 'From another tab' })
  })

  test('captions are uploaded, edited beside the player and saved as WebVTT', async () => {
    const { page, errors } = await open(videoId, 'captions')
    await page.getByRole('button', { name: 'Upload' }).click()
    await page.getByLabel('Language tag').fill('en')
    const srt = '1\n00:00:00,500 --> 00:00:01,000\nHello there\n\n2\n00:00:01,000 --> 00:00:02,000\nBye\n'
    const file = { name: 'film.srt', mimeType: 'application/x-subrip', buffer: Buffer.from(srt) }
    await page.getByLabel('File', { exact: true }).setInputFiles(file)
    await page.getByLabel('Show by default').check()
    await page.getByRole('dialog').getByRole('button', { name: 'Upload' }).click()
    await page.getByRole('cell', { name: 'English en Default' }).waitFor()

    await page.getByRole('button', { name: 'Edit English' }).click()
    await page.getByLabel('Cue 1: Text').fill('Hello <b>world</b>')
    // The player tells its position.
    const setEnd = page.getByRole('button', { name: 'Set end of cue 2 to the player position' })
    await waitFor(() => setEnd.isEnabled())
    await page
      .frameLocator('iframe')
      .locator('video')
      .evaluate((video: Video) => {
        video.currentTime = 2.52
        return new Promise((done) => video.addEventListener('seeked', done, { once: true }))
      })
    await setEnd.click()
    await waitFor(
      async () => (await page.getByRole('textbox', { name: 'End of cue 2' }).inputValue()) === '00:02.520',
    )
    await page.getByRole('button', { name: 'More actions for cue 1' }).click()
    await page.getByRole('menuitem', { name: 'Split' }).click()
    await page.getByLabel('Cue 3: Text').waitFor()
    await page.getByRole('textbox', { name: 'Start of cue 1' }).fill('x')
    await page.getByText('Cues to correct before saving: 1').waitFor()
    assert.ok(await page.getByRole('button', { name: 'Save', exact: true }).isDisabled())
    await page.getByRole('textbox', { name: 'Start of cue 1' }).fill('0:00.25')
    await save(page)
    await waitForToast(page, 'Captions saved')
    const { text } = await call(`${service.url}/vod/${videoId}/captions/en.vtt`, { key: '' })
    assert.equal(
      text,
      'WEBVTT\n\n00:00.250 --> 00:00.750\nHello\n\n00:00.750 --> 00:01.000\n<b>world</b>\n\n00:01.000 --> 00:02.520\nBye\n',
    )

    // Somebody else saves the same file meanwhile.
    await page.getByLabel('Cue 3: Text').fill('Mine')
    const theirs = 'WEBVTT\n\n00:01.000 --> 00:02.000\nTheirs\n'
    await sendFile(`${service.url}/videos/${videoId}/captions/en`, Buffer.from(theirs))
    await page.getByText('Changed elsewhere').waitFor()
    await save(page)
    await page.getByText('Not saved: someone else').waitFor()
    await page.getByRole('button', { name: 'Use theirs' }).click()
    assert.equal(await page.getByLabel('Cue 1: Text').inputValue(), 'Theirs')
    assert.deepEqual(errors, [])
  })

  test('what is typed while the editor asks the player for its position stays', async () => {
    // The answers of the player wait until they are released. Listeners of a window are called in their order.
    await dashboard.page.addInitScript(`{
      const held = []
      let isHeld = false
      addEventListener('message', (event) => {
        if (event.data?.callbackId === undefined || !isHeld) return
        event.stopImmediatePropagation()
        held.push(event)
      })
      window.hold = () => { isHeld = true }
      window.heldCount = () => held.length
      window.release = () => {
        isHeld = false
        for (const { data, source, origin } of held.splice(0))
          dispatchEvent(new MessageEvent('message', { data, source, origin }))
      }
    }`)
    const captions = 'WEBVTT\n\n00:00.500 --> 00:01.000\nOne two\n'
    await sendFile(`${service.url}/videos/${videoId}/captions/fr`, Buffer.from(captions))
    const { page, errors } = await open(videoId, 'captions')
    await page.getByRole('button', { name: 'Edit French' }).click()
    const setEnd = page.getByRole('button', { name: 'Set end of cue 1 to the player position' })
    await waitFor(() => setEnd.isEnabled())
    const text = page.getByLabel('Cue 1: Text')
    const typeMeanwhile = async (typed: string, act: () => Promise<void>) => {
      await page.evaluate('hold()')
      await act()
      await waitFor(async () => (await page.evaluate('heldCount()')) === 1)
      await text.fill(typed)
      await page.evaluate('release()')
    }
    await typeMeanwhile('One three', () => setEnd.click())
    const end = page.getByRole('textbox', { name: 'End of cue 1' })
    await waitFor(async () => (await end.inputValue()) !== '00:01.000')
    assert.equal(await text.inputValue(), 'One three')
    await end.fill('00:01.000')

    await page.getByRole('button', { name: 'More actions for cue 1' }).click()
    await typeMeanwhile('One four', () => page.getByRole('menuitem', { name: 'Split' }).click())
    await page.getByLabel('Cue 2: Text').waitFor()
    const texts = () =>
      page
        .getByLabel(/^Cue \d: Text/)
        .evaluateAll((all) => all.map((each) => (each as unknown as { value: string }).value))
    assert.equal((await texts()).join(' ').trim(), 'One four')

    await typeMeanwhile('Five', () => page.getByRole('button', { name: 'Add cue' }).click())
    await page.getByLabel('Cue 3: Text').waitFor()
    assert.ok((await texts()).includes('Five'), String(await texts()))
    assert.deepEqual(errors, [])
  })

  test('a file is uploaded into an empty video, and the page says why it failed and tries again', async () => {
    const id = await createVideo(service, { title: 'Empty' })
    const { page, errors } = await open(id, 'files')
    const file = { name: 'film.mp4', mimeType: 'video/mp4', buffer: Buffer.from('not a video') }
    await page.getByLabel('Upload file').setInputFiles(file)
    const retry = page.getByRole('button', { name: 'Try again' })
    await retry.waitFor()
    const { failure } = (await api(`/videos/${id}/status`)).body.encoding.qualities[0]
    await page.getByText(failure).first().waitFor()
    await retry.click()
    await waitForToast(page, 'Encoding the failed qualities again')
    await page.getByText('Failed', { exact: true }).first().waitFor()
    assert.deepEqual(errors, [])
  })

  test('a frame of the timeline becomes the thumbnail', async () => {
    const thumbnail = async () =>
      Buffer.from(
        await (await fetch(`${service.url}/vod/${videoId}/thumbnail.jpg?${Math.random()}`)).arrayBuffer(),
      )
    const before = await thumbnail()
    const { page, errors } = await open(videoId, 'thumbnail')
    const image = page.getByAltText('Current thumbnail')
    const url = await image.getAttribute('src')
    await page.getByRole('slider', { name: 'Frame position' }).press('ArrowRight')
    assert.equal(await page.locator('output').textContent(), '00:00.040')
    await page.getByRole('button', { name: 'Use frame' }).click()
    await waitFor(async () => !(await thumbnail()).equals(before))
    // The page shows it without a reload.
    await waitFor(async () => (await image.getAttribute('src')) !== url)
    assert.deepEqual(errors, [])
  })

  test('the embed code is that of the API, and plays in another page', async (t) => {
    const { page } = await open(videoId, 'embed')
    const code = page.getByRole('tabpanel').locator('pre').first()
    assert.equal(await code.textContent(), (await stored()).assets.iframe)
    await page.getByLabel('Autoplay').check()
    await page.getByLabel('Muted').check()
    await page.getByLabel('Start at').fill('0:01')
    const html = await code.textContent()
    assert.match(html!, /\?autoplay=true&amp;muted=true&amp;t=0:01"/)
    await page.getByLabel('Size').selectOption('Fixed width')
    await page.getByLabel('Width in pixels').fill('')
    await page.getByText('Enter a number from 100 to 8,000.').waitFor()
    assert.doesNotMatch((await code.textContent())!, /width="0"/)
    await page.getByLabel('Width in pixels').fill('320')
    assert.match((await code.textContent())!, / width="320" height="180" /)
    const site = await servePages((_request, response) =>
      response.setHeader('content-type', 'text/html').end(`<!doctype html>${html}`),
    )
    t.after(() => site.close())
    await page.goto(site.url)
    const video = page.frameLocator('iframe').locator('video')
    await video.waitFor()
    await waitFor(() => video.evaluate((each: Video) => each.currentTime > 1))
  })

  test('the links of a private video are for others: neither the page nor anybody else has used them', async () => {
    await api(`/videos/${videoId}`, { public: false })
    await dashboard.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    const { page, errors } = await open(videoId, 'embed')
    await page.frameLocator('iframe').locator('video').waitFor({ state: 'attached' })
    const opens = async (url: string) => (await fetch(url)).status === 200
    const panel = page.getByRole('tabpanel')
    const shown = async () => /src="([^"]+)"/.exec((await panel.locator('pre').first().textContent())!)![1]!
    await panel.locator('pre', { hasText: 'iframe' }).waitFor()
    const url = await shown()
    assert.ok(await opens(url))
    assert.ok(!(await opens(url)), 'it is for one viewer')
    await panel.getByRole('button', { name: 'New links' }).click()
    await waitFor(async () => (await shown()) !== url)
    assert.ok(await opens(await shown()))

    const copied = new Set<string>()
    await waitFor(async () => {
      await page.getByRole('button', { name: /^(Copy link for one viewer|Copied)$/ }).click()
      copied.add(String(await page.evaluate('navigator.clipboard.readText()')))
      return copied.size === 2
    })
    for (const each of copied) assert.ok(await opens(each), each)
    assert.deepEqual(errors, [])
    await api(`/videos/${videoId}`, { public: true })
  })

  test('a file that could not be fetched is fetched again or uploaded, into a video with the same details', async () => {
    const details = {
      title: 'From elsewhere',
      tags: ['far'],
      metadata: [{ key: 'a', value: 'b' }],
      public: false,
    }
    // Private networks are not allowed.
    const { body } = await api('/videos', { ...details, source: 'http://127.0.0.1/film.mp4' }, 'POST')
    const id = body.videoId
    const { page, errors } = await open(id, 'details')
    await page.getByText(/^The file could not be imported\. \S/).waitFor()
    const again = page.getByRole('button', { name: 'Import again' })
    await again.click()
    await page.waitForURL((url) => !url.pathname.endsWith(id))
    const second = page.url().split('/').at(-1)!
    const { title, tags, metadata, public: isPublic, source } = await stored(second)
    assert.deepEqual({ title, tags, metadata, public: isPublic }, details)
    assert.equal(source.uri, 'http://127.0.0.1/film.mp4')
    // The page of the first video has the same buttons.
    await page.locator(`iframe[src*="${second}"]`).waitFor()
    await again.waitFor()
    const file = { name: 'film.mp4', mimeType: 'video/mp4', buffer: Buffer.from('not a video') }
    await page.getByLabel('Upload file').setInputFiles(file)
    await page.waitForURL((url) => !url.pathname.endsWith(second))
    const third = page.url().split('/').at(-1)!
    await waitFor(async () => (await api(`/videos/${third}/status`)).body.ingest?.status === 'uploaded')
    assert.deepEqual((await stored(third)).tags, ['far'])
    assert.deepEqual(errors, [])
  })

  test('a file that cannot be read has no embed code, and is replaced', async () => {
    const id = await uploadVideo(service, Buffer.from('not a video'))
    const { page, errors } = await open(id, 'embed')
    await page.getByText('No embed code').waitFor()
    const copy = page.getByRole('button', { name: 'Copy embed code' }).first()
    await copy.waitFor({ state: 'detached' })
    await page.getByLabel('Replace file').setInputFiles(clip)
    await copy.waitFor()
    await waitForEncoding(service, id)
    assert.equal((await api(`/videos/${id}/status`)).body.encoding.playable, true)
    assert.deepEqual(errors, [])
  })

  test('events name the quality that they are about, and tell the time', async () => {
    const { page, errors } = await open(videoId, 'events')
    for (const name of ['240p HLS', '240p MP4'])
      await page.getByRole('listitem').filter({ hasText: name }).locator('time').waitFor()
    assert.deepEqual(errors, [])
  })

  test('nothing can be generated that the server is not configured for, and the page says why', async () => {
    const { page } = await open(videoId, 'transcript')
    const button = (name: string) => page.getByRole('button', { name })
    await page.getByText('Speech recognition is not set up on this server.').waitFor()
    await page.getByText('No language model is set up on this server.').waitFor()
    assert.ok(await button('Generate transcript').isDisabled())
    assert.ok(await button('Generate from transcript').isDisabled())
    assert.ok(await button('Write summary').isEnabled())
    const guide = await page.getByRole('link', { name: 'How to set it up' }).first().getAttribute('href')
    assert.equal((await fetch(`${service.url}${guide}`)).status, 200)

    await page.route('**/dashboard/session', async (route) => {
      const response = await route.fetch()
      const json = { ...(await response.json()), canTranscribe: true, canSummarize: true }
      await route.fulfill({ response, json })
    })
    await page.reload()
    await button('Generate transcript').waitFor()
    assert.ok(await button('Generate transcript').isEnabled())
    assert.ok(await button('Generate from transcript').isEnabled())
    assert.equal(await page.getByText('is set up on this server').count(), 0)
  })

  test('a summary that is not saved yet survives other tabs, and is not left without a question', async () => {
    const { page } = await open(videoId, 'transcript')
    await page.getByRole('button', { name: 'Write summary' }).click()
    await page.getByLabel('Abstract').fill('Half a sentence')
    await page.getByRole('tab', { name: 'Files' }).click()
    await page.getByRole('tab', { name: 'Transcript' }).click()
    assert.equal(await page.getByLabel('Abstract').inputValue(), 'Half a sentence')
    await page.getByRole('link', { name: 'Home' }).click()
    await page.getByText('Leave without saving?').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await save(page)
    await waitForToast(page, 'Summary saved')
  })

  test('hostile texts are shown as texts in every tab', async () => {
    const attack = `"><img src=x onerror="window.attack=1"><script>window.attack=1</script>'`
    const id = await createVideo(service, {
      title: `${attack} \u202e${'long'.repeat(100)}`,
      description: attack,
      tags: [attack.slice(0, 200), '\u202eright to left'],
      metadata: [{ key: attack, value: attack }],
      public: false,
    })
    const vtt = `WEBVTT\n\n${attack}\n00:00.000 --> 00:01.000 line:0\n${attack}\n`
    for (const kind of ['captions', 'chapters'])
      assert.equal((await sendFile(`${service.url}/videos/${id}/${kind}/en`, Buffer.from(vtt))).status, 200)
    const { page, errors } = await open(id, 'details')
    for (const tab of [
      'Details',
      'Embed',
      'Thumbnail',
      'Captions',
      'Chapters',
      'Transcript',
      'Files',
      'Events',
    ]) {
      await page.getByRole('tab', { name: tab }).click()
      const panel = page.getByRole('tabpanel', { name: tab })
      await panel.waitFor()
      if (tab === 'Captions') {
        await panel.getByRole('button', { name: 'Edit' }).click()
        assert.equal(await panel.getByLabel('Cue 1: Text').inputValue(), `">window.attack=1'`)
      }
      if (tab === 'Embed') await panel.getByText('This video is private').waitFor()
    }
    assert.equal(await page.evaluate('window.attack'), undefined)
    assert.deepEqual(errors, [])
    assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'))

    // The video is deleted and restored.
    await page.getByRole('button', { name: 'More actions', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Delete video' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete video' }).click()
    await page.waitForURL('**/production/videos')
    assert.equal((await api(`/videos/${id}`)).status, 404)
    await page.getByRole('button', { name: 'Undo' }).first().click()
    await waitFor(async () => (await api(`/videos/${id}`)).status === 200)
  })
})

test('the dashboard offers the languages of the API', () => {
  assert.deepEqual(spokenLanguages, [...languages])
})
