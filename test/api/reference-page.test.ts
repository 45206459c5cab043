import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser, skip } from '../support/browser/browser.ts'
import { productionKey, sandboxKey, sharedKinora, timeoutMs, waitFor } from '../support/harness.ts'
import { createVideo } from '../support/videos.ts'

// The API page in a browser: Scalar's reference, and the page without scripts.

const service = sharedKinora({ KINORA_ROLES: 'api' })
let browser: Browser | undefined

before(async () => {
  browser = await launchBrowser()
})
after(() => browser?.close())

type Opened = { page: Page; requests: string[]; problems: string[] }

async function openReference(t: TestContext, width: number, key?: string): Promise<Opened> {
  const page = await browser!.newPage({ viewport: { width, height: 844 } })
  t.after(() => page.close())
  page.setDefaultTimeout(timeoutMs)
  const requests: string[] = []
  const problems: string[] = []
  page.on('request', (request) => requests.push(request.url()))
  page.on('pageerror', ({ message }) => problems.push(message))
  // Policy violations are errors on the console.
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text())
  })
  if (key) await page.addInitScript(`sessionStorage.setItem('kinora-docs-key', '{"key":"${key}"}')`)
  await page.goto(`${service.url}/docs`)
  await page.getByRole('heading', { name: 'Kinora', exact: true }).waitFor()
  return { page, requests, problems }
}

async function findOperation(page: Page, name: string): Promise<void> {
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Search the docs' }).fill(name.toLowerCase())
  await page.getByRole('option', { name }).first().waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name }).first().waitFor()
}

/** Sends the request of `GET /videos` in the window that tries it, and returns the response. */
async function tryListVideos(page: Page, key: string, base: string) {
  await page.getByRole('textbox', { name: 'Bearer Token' }).first().fill(key)
  await page.getByRole('button', { name: /Test Request.*get \/videos\)/i }).click()
  const response = page.waitForResponse((each) => each.url().startsWith(`${base}/videos`))
  await page.getByRole('button', { name: 'Send get request' }).click()
  return response
}

/** Opens a list of choices and picks one. */
async function choose(page: Page, button: RegExp, option: RegExp): Promise<void> {
  await page.getByRole('button', { name: button }).first().click()
  await page.getByRole('option', { name: option }).first().click()
}

function assertContained({ requests, problems }: Opened) {
  assert.deepEqual(problems, [])
  assert.ok(requests.length > 3)
  for (const url of requests) assert.ok(url.startsWith(`${service.url}/`) || url.startsWith('data:'), url)
}

test('the reference finds an operation and sends requests with the key of the reader, to this service only', {
  skip,
}, async (t) => {
  await createVideo(service, { title: 'In production' })
  await createVideo({ url: service.url, key: sandboxKey }, { title: 'In the sandbox' })
  const opened = await openReference(t, 1280)
  const { page } = opened
  await findOperation(page, 'List and search videos')
  await choose(page, /^curl/, /^Python/)
  await page.getByText('from urllib.request import').first().waitFor()
  const response = await tryListVideos(page, productionKey, service.url)
  assert.equal(response.status(), 200)
  await page.getByText('In production').first().waitFor()

  // The same page on a phone. Loading it once more would take seconds.
  await page.keyboard.press('Escape')
  await page.setViewportSize({ width: 390, height: 844 })
  await waitFor(
    async () => (await page.evaluate<number>('document.documentElement.scrollWidth')) <= 390,
    () => 'the page is wider than the phone',
  )
  await choose(page, /^Server/, /sandbox$/)
  await findOperation(page, 'List and search videos')
  const inSandbox = await tryListVideos(page, sandboxKey, `${service.url}/sandbox`)
  assert.equal(inSandbox.status(), 200)
  await page.getByText('In the sandbox').first().waitFor()
  assertContained(opened)
})

test('the key of the reader is in the samples and requests of the API page, and Scalar shows nothing of its own', {
  skip,
}, async (t) => {
  const { page, problems } = await openReference(t, 1280, sandboxKey)
  await findOperation(page, 'List and search videos')
  await page.getByText(sandboxKey).first().waitFor()
  await page.getByRole('button', { name: /Test Request.*get \/videos\)/i }).click()
  const response = page.waitForResponse((each) => each.url().startsWith(`${service.url}/videos`))
  await page.getByRole('button', { name: 'Send get request' }).waitFor()
  for (const leftover of ['.ascii-art', 'a[href*="scalar.com"]'])
    assert.equal(await page.locator(leftover).filter({ visible: true }).count(), 0, leftover)
  await page.getByRole('button', { name: 'Send get request' }).click()
  assert.equal((await response).status(), 200)
  assert.deepEqual(problems, [])
})

test('a browser that blocks scripts gets the page without scripts', { skip }, async (t) => {
  const page = await browser!.newPage({ javaScriptEnabled: false, viewport: { width: 390, height: 844 } })
  t.after(() => page.close())
  await page.goto(`${service.url}/docs`)
  await page.waitForURL(`${service.url}/docs/plain`)
  await page.getByRole('heading', { name: 'Kinora API' }).waitFor()
})
