import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Browser, BrowserContext, Page, Request } from 'playwright-core'
import { axe } from '../support/browser/accessibility.ts'
import { launchBrowser, skip } from '../support/browser/browser.ts'
import { logIn as logInElsewhere } from '../support/browser/dashboard.ts'
import { call, root, type Service, sendFile, sharedKinora, timeoutMs, waitFor } from '../support/harness.ts'
import { onePixel } from '../support/media/one-pixel.ts'
import { withoutEncoding } from '../support/programs.ts'
import { ago, hour, insertSessions, type Session } from '../support/session-rows.ts'
import { createVideo } from '../support/videos.ts'

// Every view of the dashboard: it fits all screens in both color schemes, has no accessibility findings, loads nothing
// from elsewhere and reports no errors.

const password = 'correct horse'
const sizes: [width: number, height: number][] = [
  [1280, 800],
  [2560, 1440],
  [360, 740],
]
const schemes: ('light' | 'dark')[] = ['light', 'dark']
const maxFirstViewBytes = 190 * 1024
const maxFontBytes = 40 * 1000
const hostile = `<img src=x onerror="window.hacked=1">"><script>window.hacked=1</script>`

describe('the dashboard', { skip }, () => {
  const service: Service = sharedKinora({ KINORA_ADMIN_PASSWORD: password, ...withoutEncoding() })
  let browser: Browser
  let context: BrowserContext
  let page: Page
  const errors: string[] = []
  const foreign: string[] = []
  /** Requests for code and data without an answer yet. The stream of changes has no end. */
  const running = new Set<Request>()
  /** Another host than that of the public URL, which is localhost. */
  let address: string

  before(async () => {
    browser = (await launchBrowser())!
    address = service.url.replace('localhost', '127.0.0.1')
    // Scripts of a test need it, and the policy has a test of its own.
    context = await browser.newContext({ bypassCSP: true, reducedMotion: 'reduce' })
    page = await context.newPage()
    page.setDefaultTimeout(timeoutMs)
    page.on('pageerror', (error) => errors.push(error.message))
    page.on('console', (message) => {
      if (message.type() === 'error' && !/401/.test(message.text())) errors.push(message.text())
    })
    page.on('request', (request) => {
      const { origin, protocol } = new URL(request.url())
      if (origin !== address && /^http/.test(protocol)) foreign.push(request.url())
      if (/\/dashboard\/(?!changes\/)/.test(request.url())) running.add(request)
    })
    for (const event of ['requestfinished', 'requestfailed'] as const)
      page.on(event as 'requestfinished', (request) => running.delete(request))
  })
  after(() => browser?.close())

  /** Loads the page, and logs in if that is necessary. */
  async function load(path = 'production') {
    // Small screens hide the navigation.
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.goto(`${address}/dashboard/${path}`)
    const field = page.getByLabel('Password')
    await field.or(page.getByRole('navigation')).first().waitFor()
    if (!(await field.isVisible())) return
    await field.fill(password)
    await page.keyboard.press('Enter')
    await page.waitForURL(`${address}/dashboard/${path}`)
  }

  /** A view, and what is opened on it. */
  type View = [path: string, open?: () => Promise<unknown>]

  const click = (name: string) => page.getByRole('button', { name, exact: true }).first().click()
  const openDialog = (name: string) => async () => {
    await click(name)
    await page.getByRole('dialog').waitFor()
  }
  const press = (keys: string) => async () => {
    await page.keyboard.press(keys)
    await page.getByRole('dialog').waitFor()
  }

  const createSigningKey = async () => {
    await openDialog('Create signing key')()
    await page.getByLabel('Name').fill('Website')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Your new signing key' }).waitFor()
  }

  async function createContent(): Promise<View[]> {
    const post = async (path: string, json: object) =>
      (await call(`${service.url}${path}`, { method: 'POST', json })).body
    const metadata = [{ key: hostile.slice(0, 60), value: hostile }]
    const details = { title: hostile, description: hostile, tags: [hostile], metadata }
    const videoId = await createVideo(service, details)
    const vtt = Buffer.from(`WEBVTT\n\n00:00.000 --> 00:01.000\n${hostile}\n`)
    for (const kind of ['captions', 'chapters'])
      await sendFile(`${service.url}/videos/${videoId}/${kind}/en`, vtt)
    await insertSessions(service.database, viewings(videoId))
    const { liveStreamId } = await post('/live-streams', { name: hostile, metadata })
    const { playerId } = await post('/players', { name: hostile.slice(0, 40) })
    await sendFile(`${service.url}/watermarks`, onePixel)
    await post('/upload-tokens', { ttl: 3600 })
    await post('/upload-tokens', { videoId: await createVideo(service, details) })
    await post('/signing-keys', { name: hostile.slice(0, 60) })
    const url = `https://example.com/?${encodeURIComponent(hostile)}`
    const { webhookId } = await post('/webhooks', { url, events: ['video.encoding.quality.completed'] })
    const list = [{ url: 'http://127.0.0.1/film.mp4', title: hostile }]
    const { importId } = await post('/imports', { service: 'urls', list })
    const preview = await post('/imports', { service: 'urls', list, dryRun: true })
    const video = `production/videos/${videoId}?tab=`
    const viewers = 'production/viewers?tab='
    const pair = `viewerKey=plan&viewer=${encodeURIComponent(hostile)}`
    return [
      ['production'],
      ['production', press('Control+K')],
      ['sandbox'],
      ['production/videos'],
      ['production/videos', () => click('List')],
      ['production/videos', openDialog('Import from URL')],
      ['production/videos', press('?')],
      ['sandbox/videos'],
      ['production/videos/imports', () => page.getByText('Options').click()],
      ['sandbox/videos/imports', () => page.getByLabel('Import from').selectOption('List of URLs')],
      [`production/videos/imports/${importId}`],
      [`production/videos/imports/${preview.importId}`],
      ...['details', 'embed', 'thumbnail', 'chapters', 'transcript', 'files', 'events'].map(
        (tab): View => [video + tab],
      ),
      [`${video}captions`, () => click('Edit English')],
      ['production/live'],
      ['production/live', openDialog('Create live stream')],
      [`production/live/${liveStreamId}`],
      ...['overview', `retention&media=${videoId}`, 'metadata&key=plan', `sessions&${pair}`].map(
        (tab): View => [viewers + tab],
      ),
      ['production/webhooks'],
      ['production/webhooks', openDialog('Create webhook')],
      [`production/webhooks/${webhookId}`],
      ['production/themes'],
      [`production/themes/${playerId}`],
      ['production/watermarks'],
      ['production/watermarks', () => page.getByRole('button', { name: /^Use/ }).first().click()],
      ['sandbox/watermarks'],
      ['production/keys'],
      ['production/keys', openDialog('Create key')],
      ['production/keys?tab=upload-tokens'],
      ['production/keys?tab=upload-tokens', openDialog('Create upload token')],
      ['production/keys?tab=upload-tokens', () => page.getByRole('button', { name: /^Use/ }).first().click()],
      ['sandbox/keys?tab=upload-tokens'],
      ['production/keys?tab=signing-keys'],
      ['production/keys?tab=signing-keys', createSigningKey],
      ['sandbox/keys?tab=signing-keys'],
      ['production/system'],
    ]
  }

  const viewings = (media_id: string): Session[] =>
    Array.from({ length: 6 }, (_, n) => ({
      media_id,
      loaded_at: ago(n * hour),
      plays: 1,
      watch_seconds: 5,
      watched: '{[0,5)}',
      country: 'DE',
      device_type: 'phone',
      os_name: 'iOS',
      browser_name: hostile,
      referrer: `https://example.com/${encodeURIComponent(hostile)}`,
      metadata: { plan: hostile },
    }))

  /** Elements that make the page wider than the screen, dialogs that do not fit, values without a label or cut off. */
  const misplaced = `(() => {
    const { clientWidth: width, clientHeight: height, scrollWidth } = document.documentElement
    const outside = (each) => {
      const { left, top, right, bottom } = each.getBoundingClientRect()
      return left < -1 || top < -1 || right > width + 1 || bottom > height + 1
    }
    const wide = scrollWidth <= width ? [] : [...document.querySelectorAll('body *')]
      .filter((each) => each.getBoundingClientRect().right > width + 1)
    const dialogs = [...document.querySelectorAll('[role=dialog]')].filter(outside)
    const isBare = (cell) => {
      const head = cell.closest('table').querySelectorAll('thead th')[cell.cellIndex]
      return head?.offsetParent === null && cell.offsetParent !== null && !cell.dataset.label && !head.querySelector('.visually-hidden')
    }
    const bare = [...document.querySelectorAll('tbody td')].filter(isBare)
    const isCut = (table) =>
      table.tHead?.offsetParent === null && table.parentElement.scrollWidth > table.parentElement.clientWidth + 1
    const cut = [...document.querySelectorAll('table')].filter(isCut)
    return [...wide, ...dialogs, ...bare, ...cut]
      .slice(0, 5).map((each) => each.outerHTML.slice(0, 120))
  })()`

  /** Until then, colors and sizes may be those of before. */
  const twoFrames = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))'

  const findings = `axe.run(document, { resultTypes: ['violations'], iframes: false }).then(({ violations }) =>
    violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ html, failureSummary }) => html.slice(0, 160) + ' ' + failureSummary).join(' ')))`

  let axeMs = 0

  /** In both color schemes, at all sizes. Axe looks once at each scheme, at sizes with different layouts. */
  async function checkView(name: string): Promise<string[]> {
    const problems: string[] = []
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme })
      for (const [width, height] of sizes) {
        await page.setViewportSize({ width, height })
        await page.evaluate(twoFrames)
        const found = await page.evaluate<string[]>(misplaced)
        const start = performance.now()
        if (width === (colorScheme === 'dark' ? 360 : 1280))
          found.push(...(await page.evaluate<string[]>(findings)))
        axeMs += performance.now() - start
        problems.push(...found.map((each) => `${name} at ${width} in ${colorScheme}: ${each}`))
      }
      // The next ones begin as these end, because each change takes CPU time.
      sizes.reverse()
    }
    schemes.reverse()
    return problems
  }

  /** Goes to a view as a link does, because loading the page takes longer than checking it. */
  const follow = (path: string) => page.evaluate(`history.pushState(null, '', '/dashboard/${path}')`)
  const nothing = 'production/nothing'
  const isNothing = () => page.getByRole('heading', { name: 'Page not found' })

  /** Opens a view of the loaded page. Nothing of the last one is left. */
  async function show(path: string): Promise<void> {
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await follow(nothing)
    await isNothing().waitFor()
    running.clear()
    await follow(path)
    await isNothing().waitFor({ state: 'hidden' })
    await page.locator('main').getByRole('heading').first().waitFor()
    await isComplete()
  }

  /** Waits for code and data, and for what they ask for in turn. */
  async function isComplete(): Promise<void> {
    do {
      await waitFor(() => running.size === 0)
      await page.evaluate(twoFrames)
    } while (running.size > 0)
    await page.waitForFunction(`!document.body.innerText.includes('Loading…')`)
  }

  test('every view fits every screen in both color schemes, and axe finds nothing serious', async (t) => {
    const views = await createContent()
    await page.goto(`${address}/dashboard/login`)
    await page.getByLabel('Password').waitFor()
    await page.evaluate(axe)
    const problems = await checkView('login')
    await load()
    await page.evaluate(axe)
    await follow(nothing)
    await isNothing().waitFor()
    problems.push(...(await checkView(nothing)))
    for (const [path, open] of views) {
      await show(path)
      await open?.()
      await isComplete()
      problems.push(...(await checkView(`${path} ${open ?? ''}`)))
    }
    assert.deepEqual(problems, [])
    t.diagnostic(`axe: ${Math.round(axeMs)} ms`)
    assert.equal(await page.evaluate('window.hacked'), undefined)
    assert.deepEqual(errors, [])
    assert.deepEqual(foreign, [])
  })

  test('a keyboard is enough from the login to the embed code', async () => {
    const title = 'Reached by keyboard'
    const videoId = await createVideo(service, { title })
    const { assets } = (await call(`${service.url}/videos/${videoId}`)).body
    const other = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] })
    const tab = await other.newPage()
    tab.setDefaultTimeout(timeoutMs)
    await tab.goto(`${service.url}/dashboard`)
    await tab.getByLabel('Password').waitFor()
    await tab.keyboard.type(password)
    await tab.keyboard.press('Enter')
    await tab.getByRole('heading', { name: 'Home' }).waitFor()
    // On a busy machine the second key may come too late.
    await waitFor(async () => {
      await tab.keyboard.press('g')
      await tab.keyboard.press('v')
      return tab.url().includes('/videos')
    })
    await tab.locator('input[data-search]').waitFor()
    await tab.getByText(title).waitFor()
    // The search finds it, and its card comes after the controls of the view.
    await tab.keyboard.press('/')
    await tab.keyboard.type('keyboard')
    await tab.waitForURL(/q=keyboard/)
    await tab.getByText('1 video', { exact: true }).waitFor()
    await tabTo(tab, new RegExp(title))
    await tab.keyboard.press('Enter')
    await tab.waitForURL(new RegExp(videoId))
    await tab.getByRole('tab', { name: 'Details' }).waitFor()
    await tabTo(tab, /^Details$/)
    await tab.keyboard.press('ArrowRight')
    await tab.getByRole('button', { name: 'Copy embed code' }).waitFor()
    await tabTo(tab, /^Copy embed code$/)
    const copied = await watchFor(tab, '[role=status]', 'Copied')
    await tab.keyboard.press('Enter')
    await copied()
    assert.equal(await tab.evaluate('navigator.clipboard.readText()'), assets.iframe)
    await other.close()
  })

  /** Watches for a text that may be gone before a busy machine sees it. Returns a function that waits for it. */
  async function watchFor(tab: Page, selector: string, text: string): Promise<() => Promise<void>> {
    await tab.evaluate(`window.wasShown = false
      new MutationObserver((_, observer) => {
        const shown = [...document.querySelectorAll(${JSON.stringify(selector)})]
        wasShown = shown.some(({ textContent }) => textContent.includes(${JSON.stringify(text)}))
        if (wasShown) observer.disconnect()
      }).observe(document, { childList: true, subtree: true, characterData: true })`)
    return () =>
      waitFor(
        () => tab.evaluate<boolean>('wasShown'),
        () => `there was no "${text}"`,
      )
  }

  /** Presses Tab until an element with this name has the focus. */
  async function tabTo(tab: Page, name: RegExp): Promise<void> {
    const focused = `(() => { const at = document.activeElement; return at.getAttribute('aria-label') ?? at.innerText ?? '' })()`
    for (let presses = 0; presses < 60; presses++) {
      if (name.test(String(await tab.evaluate(focused)).trim())) return
      await tab.keyboard.press('Tab')
    }
    assert.fail(`Tab does not lead to ${name}`)
  }

  test('the palette finds pages and videos, ? lists the keys, and a chosen color scheme is remembered', async () => {
    const title = 'Sourdough bread'
    const videoId = await createVideo(service, { title })
    await load()
    const choose = async (text: string, option: string) => {
      await page.keyboard.press('Control+K')
      await page.getByRole('combobox', { name: 'Search videos or type a command' }).fill(text)
      await page.getByRole('option', { name: option }).waitFor()
      await page.keyboard.press('Enter')
    }
    await choose('webh', 'Webhooks')
    await page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor()
    await choose('sourd', title)
    await page.waitForURL(new RegExp(videoId))
    await page.keyboard.press('?')
    const list = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    await list.getByText('Go to Webhooks').waitFor()
    await page.keyboard.press('Escape')
    await list.waitFor({ state: 'hidden' })

    await page.emulateMedia({ colorScheme: 'light' })
    const expectBackground = (color: string) =>
      page.waitForFunction(`getComputedStyle(document.body).backgroundColor === '${color}'`)
    const [light, dark] = ['rgb(255, 255, 255)', 'rgb(17, 18, 23)']
    const chooseScheme = async (name: string) => {
      await page.getByRole('button', { name: 'Account' }).click()
      await page.getByRole('menuitemradio', { name }).click()
      await page.keyboard.press('Escape')
    }
    await expectBackground(light)
    await chooseScheme('Dark')
    await expectBackground(dark)
    await page.reload()
    await expectBackground(dark)
    await chooseScheme('System')
    await expectBackground(light)
    await page.emulateMedia({ colorScheme: 'dark' })
    await expectBackground(dark)
  })

  test('a key that one tab revokes stops programs and disappears in the other tab', async () => {
    await load('sandbox/keys')
    const other = await context.newPage()
    other.setDefaultTimeout(timeoutMs)
    await other.goto(page.url())
    for (const tab of [page, other]) await tab.getByRole('heading', { name: 'API keys' }).waitFor()
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByLabel('Name').fill('Shared')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    const key = (await page.getByRole('dialog').locator('pre').innerText()).trim()
    await page.getByRole('button', { name: 'Done' }).click()
    const status = async () => (await call(`${service.url}/videos`, { key })).status
    assert.equal(await status(), 200)
    await other.getByRole('cell', { name: 'Shared', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Revoke Shared' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await other.getByRole('cell', { name: 'Shared', exact: true }).waitFor({ state: 'hidden' })
    assert.equal(await status(), 401)
    await other.close()
    // The service would not start with it.
    await page.getByRole('button', { name: /^Revoke KINORA_SANDBOX_KEY/ }).click()
    await page.getByText('This key is in the setting KINORA_SANDBOX_KEY.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  })

  /** Opens the details of a new video and types a title that is not saved. */
  async function typeTitle(title: string): Promise<string> {
    const videoId = await createVideo(service, { title: 'Before' })
    await load(`production/videos/${videoId}?tab=details`)
    await page.getByLabel('Title').fill(title)
    return videoId
  }
  const save = () => page.getByRole('button', { name: 'Save', exact: true }).click()
  const hasTitle = (videoId: string, title: string) =>
    waitFor(async () => (await call(`${service.url}/videos/${videoId}`)).body.title === title)

  test('a session that ends asks for the password over the page, and nothing that was typed is lost', async () => {
    const videoId = await typeTitle('After')
    await context.clearCookies()
    await save()
    const dialog = page.getByRole('dialog', { name: 'Log in' })
    await dialog.waitFor()
    // Somebody can also look at the page first.
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'hidden' })
    await page.getByRole('status').getByRole('button', { name: 'Log in' }).click()
    await dialog.getByLabel('Password').fill('wrong')
    await page.keyboard.press('Enter')
    await dialog.getByText('Wrong password.').waitFor()
    await dialog.getByLabel('Password').fill(password)
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'hidden' })
    assert.equal(await page.getByLabel('Title').inputValue(), 'After')
    await save()
    await hasTitle(videoId, 'After')
  })

  test('a page saves with the session of another tab that has logged in again', async () => {
    // Otherwise the page would notice the end of its session first.
    await page.route('**/dashboard/changes/*', (route) => route.abort())
    const videoId = await typeTitle('Second session')
    const { status } = await fetchInPage('/dashboard/login', { password })
    assert.equal(status, 200)
    await save()
    await hasTitle(videoId, 'Second session')

    await fetchInPage('/dashboard/login', { password })
    const dataTransfer = await page.evaluateHandle(`(() => {
      const transfer = new DataTransfer()
      transfer.items.add(new File(['not a video'], 'third session.mp4'))
      return transfer
    })()`)
    await page.dispatchEvent('main', 'drop', { dataTransfer })
    await waitFor(
      async () => (await call(`${service.url}/videos?title=third`)).body.pagination.itemsTotal === 1,
    )
    await page.unroute('**/dashboard/changes/*')
  })

  /** Sends a request as another tab does. */
  const fetchInPage = (path: string, json: object): Promise<{ status: number }> =>
    page.evaluate(`fetch('${path}', { method: 'POST', headers: { 'content-type': 'application/json' },
      body: ${JSON.stringify(JSON.stringify(json))} }).then(({ status }) => ({ status }))`)

  test('code that a new version has replaced is no reason to lose what was typed', async () => {
    await typeTitle('Typed')
    const html = (await call(`${service.url}/dashboard`, { key: '' })).text
    await page.route('**/dashboard', (route) =>
      route.fulfill({ contentType: 'text/html', body: html.replace(/index-[^.]+\.js/, 'index-new.js') }),
    )
    await page.route('**/assets/shortcut-list*', (route) => route.fulfill({ status: 404 }))
    await page.locator('h1').click()
    await page.keyboard.press('?')
    const notice = page.getByRole('status').filter({ hasText: 'The dashboard was updated.' })
    await notice.getByRole('button', { name: 'Reload' }).waitFor()
    assert.equal(await page.getByLabel('Title').inputValue(), 'Typed')
    await page.unroute('**/dashboard')
    await page.unroute('**/assets/shortcut-list*')
    page.once('dialog', (dialog) => dialog.accept())
    await notice.getByRole('button').click()
    await page.getByLabel('Title').and(page.locator('[value=Before]')).waitFor()
  })

  test('a view that is opened offline appears when the connection is back, without a reload', async () => {
    await load()
    await page.evaluate('window.isSame = true')
    await context.setOffline(true)
    await page.getByRole('link', { name: 'Player themes' }).click()
    await page.getByRole('heading', { name: 'Cannot reach the server' }).waitFor()
    await context.setOffline(false)
    await page.locator('main').getByRole('heading', { name: 'Player themes' }).waitFor()
    assert.equal(await page.evaluate('window.isSame'), true)
  })

  test('what is loaded stays if it cannot be loaded again, and "Try again" works if nothing is', async () => {
    const path = '**/dashboard/keys/production'
    let failures = 0
    const refuse = (status: number, kind: string) =>
      page.route(path, (route) => {
        failures++
        return route.fulfill({ status, json: { type: `https://example.com/${kind}`, title: 'For programs' } })
      })
    await load('production/keys')
    await page.getByRole('heading', { name: 'No keys' }).or(page.getByRole('table')).first().waitFor()
    await refuse(500, 'failed')
    const elsewhere = await logInElsewhere(service)
    const json = { name: 'Made elsewhere' }
    assert.equal((await elsewhere.call('/dashboard/keys/production', { method: 'POST', json })).status, 201)
    // The first attempt and two more.
    await waitFor(() => failures >= 3)
    await page.evaluate(twoFrames)
    assert.equal(await page.getByText('For programs').count(), 0)
    await page.unroute(path)

    await refuse(403, 'dashboard-invalid-csrf-token')
    await page.reload()
    await page.getByRole('heading', { name: 'No access' }).waitFor()
    await page.getByText('Your session has changed.').waitFor()
    await page.unroute(path)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('cell', { name: 'Made elsewhere', exact: true }).waitFor()

    await page.route('**/dashboard/session', (route) => route.fulfill({ status: 500, json: {} }))
    await page.reload()
    await page.getByText('The server responded with status 500.').waitFor()
    await page.unroute('**/dashboard/session')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('cell', { name: 'Made elsewhere', exact: true }).waitFor()
  })

  test('the keys move in lists, and shortcuts can be switched off', async () => {
    for (const name of ['one', 'two'])
      await call(`${service.url}/players`, { method: 'POST', json: { name } })
    await load('production/themes')
    await page.getByRole('link', { name: 'two' }).waitFor()
    const focused = () => page.evaluate('document.activeElement.innerText')
    await page.keyboard.press('ArrowDown')
    assert.equal(await focused(), 'two')
    await page.keyboard.press('ArrowDown')
    assert.equal(await focused(), 'one')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('ArrowUp')
    assert.equal(await focused(), 'two')

    await page.keyboard.press('?')
    const list = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    await list.getByLabel('Enable single-key shortcuts').uncheck()
    await page.keyboard.press('Escape')
    await list.waitFor({ state: 'hidden' })
    await page.reload()
    await page.getByRole('link', { name: 'two' }).waitFor()
    await page.keyboard.press('?')
    await page.keyboard.press('Control+k')
    const palette = page.getByRole('dialog', { name: 'Command palette' })
    await palette.waitFor()
    assert.equal(await page.getByRole('dialog').count(), 1)
    await createVideo(service, { title: '', tags: ['nameless'] })
    await page.keyboard.type('nameless')
    await palette.getByRole('option', { name: 'Untitled' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Keyboard shortcuts' }).click()
    await list.getByLabel('Enable single-key shortcuts').check()
  })

  test('a key is copied without the Clipboard API, and a failure is not called a success', async () => {
    const other = await browser.newContext()
    const tab = await other.newPage()
    tab.setDefaultTimeout(timeoutMs)
    await tab.addInitScript('delete Navigator.prototype.clipboard')
    await tab.goto(`${service.url}/dashboard/production/keys`)
    await tab.getByLabel('Password').fill(password)
    await tab.keyboard.press('Enter')
    await tab.getByRole('button', { name: 'Create key' }).first().click()
    await tab.getByLabel('Name').fill('Copied by hand')
    await tab.getByRole('button', { name: 'Create', exact: true }).click()
    const dialog = tab.getByRole('dialog')
    const key = (await dialog.locator('pre').innerText()).trim()
    const button = dialog.getByRole('button', { name: 'Copy' })
    await tab.evaluate(
      `document.addEventListener('copy', () => { window.copied = String(document.activeElement.value) })`,
    )
    const copied = await watchFor(tab, '[role=dialog] [role=status]', 'Copied')
    await button.click()
    await copied()
    assert.equal(await tab.evaluate('window.copied'), key)
    await dialog.getByText('Copied', { exact: true }).waitFor({ state: 'hidden' })
    await tab.evaluate('document.execCommand = () => false')
    const failed = await watchFor(tab, '[role=region] li', 'Select the text and copy it.')
    await button.click()
    await failed()
    assert.equal(await dialog.getByText('Copied', { exact: true }).count(), 0)
    await other.close()
  })

  test('at most 190 KiB with the font are loaded before the first view can be used', (t) => {
    const dist = join(root, 'web/dashboard/dist')
    const manifest: Record<string, { file: string; imports?: string[]; css?: string[] }> = JSON.parse(
      readFileSync(join(dist, 'manifest.json'), 'utf8'),
    )
    const [, font = ''] = /rel="preload" as="font"[^>]* href="\/dashboard\/([^"]+)"/.exec(
      readFileSync(join(dist, 'index.html'), 'utf8'),
    )!
    const fontBytes = readFileSync(join(dist, font)).length
    assert.ok(fontBytes <= maxFontBytes, `font: ${fontBytes} bytes`)
    const size = (entries: string[]) => {
      const files = new Set<string>()
      const add = (name: string) => {
        const { file, imports = [], css = [] } = manifest[name]!
        if (files.has(file)) return
        for (const each of [file, ...css]) files.add(each)
        imports.forEach(add)
      }
      entries.forEach(add)
      return [...files].reduce(
        (sum, file) => sum + gzipSync(readFileSync(join(dist, file))).length,
        fontBytes,
      )
    }
    const firstViews = [
      ['views/login/login-view.tsx'],
      ['views/home/home-view.tsx', 'views/home/overview.tsx'],
      ['views/home/home-view.tsx', 'views/home/get-started.tsx'],
      ['views/videos/videos-view.tsx', 'views/videos/list/video-grid.tsx'],
    ]
    for (const parts of firstViews) {
      const bytes = size(['index.html', ...parts])
      t.diagnostic(`${parts.at(-1)}: ${bytes} bytes`)
      assert.ok(bytes <= maxFirstViewBytes, `${parts.at(-1)}: ${bytes} bytes`)
    }
  })
})
