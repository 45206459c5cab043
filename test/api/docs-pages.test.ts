import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { assertAccessible } from '../support/browser/accessibility.ts'
import { launchBrowser, skip } from '../support/browser/browser.ts'
import { logIn } from '../support/browser/dashboard.ts'
import { call, productionKey, sharedKinora, waitFor } from '../support/harness.ts'

// The guides, their search and their theme in a browser. reference-page.test.ts has the API page.

const service = sharedKinora({ KINORA_ROLES: 'api' })
let browser: Browser | undefined

before(async () => {
  browser = await launchBrowser()
})
after(() => browser?.close())

const guide = '/docs/guides/uploads'

/** Opens a page that may report no problem and load nothing from elsewhere. */
async function open(t: TestContext, path: string, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser!.newContext({ viewport: { width: 1280, height: 800 }, ...options })
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', ({ message }) => problems.push(message))
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text())
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(`${service.url}/`)) problems.push(request.url())
  })
  t.after(async () => {
    await context.close()
    assert.deepEqual(problems, [])
  })
  await page.goto(service.url + path)
  return page
}

async function search(page: Page, query: string): Promise<void> {
  await page.keyboard.press('/')
  await page.getByRole('combobox', { name: 'Search the docs' }).fill(query)
}
/** The appearance of the header has options, too. */
const results = (page: Page) => page.getByRole('listbox', { name: 'Results' }).getByRole('option')
const isOpen = (page: Page) => page.getByRole('dialog', { name: 'Search' }).isVisible()

test('the index of the search is cacheable and has guides, operations and errors', async () => {
  const { status, headers, body } = await call(`${service.url}/docs/search.json`, { key: '' })
  assert.deepEqual([status, headers.get('cache-control')], [200, 'no-cache'])
  const again = { 'if-none-match': headers.get('etag')! }
  assert.equal((await call(`${service.url}/docs/search.json`, { key: '', headers: again })).status, 304)
  const urls = new Set<string>()
  for (const { group, title, url } of body) {
    assert.ok(title, url)
    assert.ok(['Guides', 'API reference', 'Errors'].includes(group), group)
    assert.ok(!urls.has(url), `${url} occurs twice`)
    urls.add(url)
  }
  assert.ok(urls.has('/docs/guides/uploads#upload-tokens'))
  assert.ok(urls.has('/docs#tag/upload-tokens/POST_upload-tokens'))
  assert.ok(urls.has('/docs/errors/dashboard-wrong-password'))
})

test('the sections that the search names exist in the guides', async () => {
  const { body } = await call(`${service.url}/docs/search.json`, { key: '' })
  const pages = new Map<string, string>()
  for (const { group, url } of body) {
    const [path, id] = url.split('#')
    if (group !== 'Guides' || !id) continue
    if (!pages.has(path)) pages.set(path, (await call(service.url + path, { key: '' })).text)
    assert.ok(pages.get(path)!.includes(`id="${id}"`), url)
  }
})

test('the samples of the guides call this service', async () => {
  for (const name of ['quickstart', 'uploads', 'webhooks', 'live']) {
    const { text } = await call(`${service.url}/docs/guides/${name}`, { key: '' })
    const samples = text.match(/<pre.*?<\/pre>/gs)!.join()
    assert.ok(samples.includes(`${service.url}/`), name)
    assert.ok(!samples.includes('localhost:8080'), name)
  }
})

describe('in a browser', { skip }, () => {
  test('the search opens with a key, shows groups, and goes to a section', async (t) => {
    const page = await open(t, guide)
    await search(page, 'signature')
    await page.getByRole('group', { name: 'Guides' }).waitFor()
    const options = results(page).and(page.locator('[aria-selected=true]'))
    assert.match(await options.innerText(), /signature/i)
    const first = await options.innerText()
    await page.keyboard.press('ArrowDown')
    assert.notEqual(await options.innerText(), first)
    await page.keyboard.press('ArrowUp')
    assert.equal(await options.innerText(), first)
    await page.keyboard.press('Escape')
    assert.equal(await isOpen(page), false)
    await search(page, 'webhooks verify signature')
    await results(page).filter({ hasText: 'Verify the signature' }).first().waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL('**/docs/guides/webhooks#verify-the-signature')
  })

  test('the search tells when nothing is found, and its key can be typed elsewhere', async (t) => {
    const page = await open(t, guide)
    await page.getByRole('button', { name: 'Search' }).click()
    await page.keyboard.type('no/such/thing')
    await page.getByText('Nothing found').waitFor()
    assert.equal(await page.getByRole('combobox', { name: 'Search the docs' }).inputValue(), 'no/such/thing')
  })

  test('the theme is that of the dashboard', async (t) => {
    const page = await open(t, guide, { colorScheme: 'light' })
    const background = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
    const light = await background()
    await page.getByRole('combobox', { name: 'Appearance' }).selectOption('Dark')
    assert.notEqual(await background(), light)
    assert.equal(await page.evaluate(`localStorage.getItem('kinora-theme')`), 'dark')
    await page.reload()
    assert.notEqual(await background(), light)
    await page.getByRole('combobox', { name: 'Appearance' }).selectOption('System')
    assert.equal(await background(), light)
  })

  test('a block of code can be copied', async (t) => {
    const page = await open(t, guide, { permissions: ['clipboard-read', 'clipboard-write'] })
    const code = page.locator('pre').first()
    await code.hover()
    await page.getByRole('button', { name: 'Copy' }).first().click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    const copied = await page.evaluate<string>('navigator.clipboard.readText()')
    assert.equal(copied.trim(), (await code.innerText()).trim())
  })

  for (const colorScheme of ['light', 'dark'] as const)
    test(`the pages are accessible with a ${colorScheme} theme`, async (t) => {
      const page = await open(t, guide, { colorScheme })
      await assertAccessible(page, guide)
      await search(page, 'upload')
      await results(page).first().waitFor()
      await assertAccessible(page, 'search')
      for (const path of ['/docs/guides', '/docs/guides/settings', '/docs/errors']) {
        await page.goto(service.url + path)
        await assertAccessible(page, path)
      }
    })

  test('nothing is wider than a phone, in any guide', async (t) => {
    const page = await open(t, '/docs/guides', { viewport: { width: 360, height: 740 } })
    const links = page.getByRole('main').getByRole('link')
    const urls = await links.evaluateAll((all) => all.map((link) => link.getAttribute('href')!))
    assert.ok(urls.length > 20)
    for (const url of ['/docs/guides', '/docs/errors', '/docs/plain', ...urls]) {
      await page.goto(service.url + url)
      assert.equal(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), 0, url)
      const tooWide = await page.evaluate(
        `[...document.querySelectorAll('table')].filter((each) => each.scrollWidth > each.clientWidth).length`,
      )
      assert.equal(tooWide, 0, `${url} has a table that is cut off`)
    }
  })

  test('a sandbox key is created with the session of the dashboard, filled in, and revoked', async (t) => {
    const context = await browser!.newContext()
    t.after(() => context.close())
    const dashboard = await logIn(service)
    const [name, value] = dashboard.cookie.split('=') as [string, string]
    await context.addCookies([{ name, value, url: `${service.url}/dashboard` }])
    const page = await context.newPage()
    await page.goto(service.url + guide)
    const sample = page.locator('pre').first()
    assert.match(await sample.innerText(), /\$KINORA_KEY/)
    await page.getByRole('button', { name: 'Your key' }).click()
    await page.getByRole('button', { name: 'Create a sandbox key' }).click()
    await page.getByRole('button', { name: 'Sandbox key', exact: true }).waitFor()
    const key = await page.evaluate<string>(`JSON.parse(sessionStorage.getItem('kinora-docs-key')).key`)
    assert.ok((await sample.innerText()).includes(`-u ${key}:`))
    const { status } = await call(`${service.url}/videos`, { key })
    assert.equal(status, 200)

    // No page of the server contains the key, and another tab does not have it.
    assert.ok(
      !(await call(service.url + guide, { key: '', headers: { cookie: dashboard.cookie } })).text.includes(
        key,
      ),
    )
    const other = await context.newPage()
    await other.goto(service.url + guide)
    assert.match(await other.locator('pre').first().innerText(), /\$KINORA_KEY/)

    await page.getByRole('button', { name: 'Sandbox key', exact: true }).click()
    await page.getByRole('button', { name: 'Revoke the key' }).click()
    await page.getByRole('button', { name: 'Your key' }).waitFor()
    assert.match(await sample.innerText(), /\$KINORA_KEY/)
    assert.equal((await call(`${service.url}/videos`, { key })).status, 401)
  })

  test('without a login, the reader can paste a key, which no other tab gets', async (t) => {
    const context = await browser!.newContext()
    t.after(() => context.close())
    const page = await context.newPage()
    await page.goto(service.url + guide)
    await page.getByRole('button', { name: 'Your key' }).click()
    await page.getByRole('link', { name: 'Log in to the dashboard' }).waitFor()
    await page.getByLabel('Or paste a key').fill('$(reboot)')
    await page.getByRole('button', { name: 'Use this key' }).click()
    await page.getByRole('alert').filter({ hasText: 'letters' }).waitFor()
    await page.getByLabel('Or paste a key').fill(productionKey)
    await page.getByRole('button', { name: 'Use this key' }).click()
    const sample = page.locator('pre').first()
    await waitFor(async () => (await sample.innerText()).includes(productionKey))
    assert.equal(await page.evaluate('localStorage.length'), 0)
  })
})
