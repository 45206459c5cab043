import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { verifySamples } from '../../web/dashboard/views/webhooks/webhook/verify-samples.ts'
import { assertAccessible } from '../support/browser/accessibility.ts'
import { skip } from '../support/browser/browser.ts'
import { dashboardBrowser, waitForToast } from '../support/browser/dashboard-page.ts'
import {
  call,
  productionKey,
  query,
  type Service,
  sandboxKey,
  sharedKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { makeClip } from '../support/media/media.ts'
import { withoutThumbnails } from '../support/programs.ts'
import { createWebhook, post, type Received, startReceiver } from '../support/receiver.ts'
import { createVideo, uploadVideo } from '../support/videos.ts'

// Webhooks, player themes and the system in the dashboard.

const execute = promisify(execFile)
const hostile = `"><script>window.hacked=1</script><img src=x onerror="window.hacked=1">`

describe('the dashboard', { skip }, () => {
  const service: Service = sharedKinora({ KINORA_ALLOW_PRIVATE_NETWORKS: 'true', ...withoutThumbnails() })
  const opened = dashboardBrowser(service, {
    viewport: { width: 1280, height: 900 },
    reducedMotion: 'reduce',
  })
  let page: Page
  const foreign: string[] = []
  /** Another host than that of the public URL, which is localhost. */
  let address: string

  before(async () => {
    address = service.url.replace('localhost', '127.0.0.1')
    for (const { name, value } of await opened.context.cookies())
      await opened.context.addCookies([{ name, value, url: `${address}/dashboard` }])
    page = opened.page
    page.on('request', (request) => {
      if (!request.url().startsWith(address)) foreign.push(request.url())
    })
  })

  /** Loads the page. Whatever the test does, nothing hostile runs. */
  async function open(t: TestContext, path: string): Promise<void> {
    t.after(async () => {
      assert.equal(await page.evaluate('window.hacked'), undefined)
      assert.deepEqual(opened.errors, [])
      assert.deepEqual(foreign, [])
    })
    await page.goto(`${address}/dashboard/${path}`)
    await page.locator('main').getByRole('heading').first().waitFor()
  }

  test('what belongs to production does not exist in the sandbox', async (t) => {
    const { webhookId } = await createWebhook(service.url, 'https://example.com/production')
    const { playerId } = (await post(`${service.url}/players`, { name: 'Production' })).body
    await open(t, 'sandbox/webhooks')
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor()
    await page.goto(`${address}/dashboard/sandbox/themes`)
    await page.getByRole('heading', { name: 'No themes yet' }).waitFor()
    for (const path of [`webhooks/${webhookId}`, `themes/${playerId}`]) {
      await page.goto(`${address}/dashboard/sandbox/${path}`)
      await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    }
  })

  test('a breadcrumb leads back to the list, in the same environment', async (t) => {
    const url = 'https://example.com/a-path-that-is-longer-than-the-width-of-a-phone'
    const { webhookId } = await createWebhook(service.url, url)
    const { playerId } = (await post(`${service.url}/players`, { name: 'Brand' })).body
    const { liveStreamId } = (await post(`${service.url}/live-streams`, { name: 'Show' })).body
    const pages = [
      [`webhooks/${webhookId}`, 'Webhooks', url],
      [`themes/${playerId}`, 'Player themes', 'Brand'],
      [`live/${liveStreamId}`, 'Live streams', 'Show'],
    ] as const
    for (const [path, list, name] of pages) {
      await open(t, `production/${path}`)
      const breadcrumb = page.getByRole('navigation', { name: 'Breadcrumb' })
      await breadcrumb.locator('[aria-current=page]', { hasText: name }).waitFor()
      await breadcrumb.getByRole('link', { name: list }).click()
      await page.getByRole('heading', { level: 1, name: list }).waitFor()
      assert.equal(new URL(page.url()).pathname, `/dashboard/production/${path.split('/')[0]}`)
    }
  })

  test('code is colored in both themes, and a phone breaks nothing within a word', async (t) => {
    const answer = JSON.stringify({ received: true, queue: { name: 'events', waiting: 3 } })
    const receiver = await startReceiver(t, (_received, response) => response.writeHead(200).end(answer))
    const path =
      'a-service-with-a-long-name/and-another-part/of-the-path/of-its-incoming-events?tenant=production'
    const { webhookId } = await createWebhook(service.url, `${receiver.url}/${path}`)
    await post(`${service.url}/webhooks/${webhookId}/test`, { event: 'video.encoding.quality.completed' })
    await open(t, `production/webhooks/${webhookId}`)
    await page.setViewportSize({ width: 360, height: 740 })
    t.after(() => page.setViewportSize({ width: 1280, height: 900 }))
    await page.getByRole('button', { name: 'Show secrets' }).click()
    await page.getByRole('button', { name: /Succeeded/ }).click()
    const response = page.getByRole('region', { name: 'Response body' })
    await response.getByText('"waiting": 3').waitFor()
    const colors = await page.evaluate<string[]>(`['"waiting"', '"events"', '3', 'true'].map((text) =>
      getComputedStyle([...document.querySelectorAll('[aria-label="Response body"] span')]
        .find(({ textContent }) => textContent === text)).color)`)
    assert.equal(new Set(colors).size, 4, colors.join())
    // Each line of the code is one line on the screen.
    const wrapped = `[...document.querySelectorAll('main pre, main .one-line')].filter((code) => {
      const { lineHeight, paddingTop } = getComputedStyle(code)
      const lines = code.matches('pre') ? code.textContent.trimEnd().split('\\n').length : 1
      return code.scrollHeight > (lines + 0.6) * parseFloat(lineHeight) + 2 * parseFloat(paddingTop)
    }).map((code) => code.textContent)`
    assert.deepEqual(await page.evaluate(wrapped), [])
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 360)
    await page.setViewportSize({ width: 1280, height: 900 })
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await assertAccessible(page, `a webhook, ${colorScheme}`)
    }
    await page.emulateMedia({ colorScheme: null })
  })

  test('a webhook is created, tested, sent again, rotated and deleted', async (t) => {
    const receiver = await startReceiver(t, (_received, response) => response.writeHead(200).end(hostile))
    await open(t, 'production/webhooks')
    await page.getByRole('button', { name: 'Create webhook' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('URL').fill('https://user:password@example.com')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel('URL').fill(`${receiver.url}/hook`)
    await dialog.getByLabel('live-stream.broadcast.ended').check()
    await dialog.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { name: `${receiver.url}/hook` }).waitFor()

    await page.getByRole('button', { name: 'Send test event' }).click()
    await page.getByLabel('Event', { exact: true }).selectOption('live-stream.broadcast.ended')
    await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
    const [received] = await receiver.waitForRequests('/hook', 1)
    const deliveries = page.getByRole('region', { name: 'Deliveries' })
    // The delivery is open, and its outcome appears without a reload.
    await deliveries.getByText('Status 200').waitFor()
    await deliveries.getByText(hostile).waitFor()
    await deliveries.getByText(`webhook-id: ${received!.headers['webhook-id']}`).waitFor()
    await deliveries.getByText('"liveStreamId": "li0000000000000000000000"').waitFor()

    await deliveries.getByRole('button', { name: 'Send again', exact: true }).click()
    await receiver.waitForRequests('/hook', 2)
    await deliveries.getByRole('heading', { name: 'Attempt 2' }).waitFor()

    const [webhook] = (await call(`${service.url}/webhooks?events=live-stream.broadcast.ended`)).body.data
    const ends = ['video.encoding.completed', 'video.encoding.failed']
    assert.deepEqual(webhook.events, [...ends, 'live-stream.broadcast.ended'])
    const panel = page.getByRole('region', { name: 'Signing secret' })
    assert.ok(!(await page.content()).includes(webhook.signatureSecret), 'the secret is hidden')
    await panel.getByRole('button', { name: 'Show secrets' }).click()
    await panel.getByText(webhook.signatureSecret).waitFor()
    await assertSamplesAccept(t, received!, webhook.signatureSecret)

    await panel.getByRole('button', { name: 'Rotate' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click()
    await panel.getByText('Requests are also signed with the previous secret until').waitFor()

    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor()
    assert.equal((await call(`${service.url}/webhooks/${webhook.webhookId}`)).status, 404)
  })

  /** Runs the code that the page offers, with the request that arrived and with a forged one. */
  async function assertSamplesAccept(t: TestContext, { headers, body }: Received, secret: string) {
    const folder = await temporaryFolder(t)
    const env = { ...process.env, WEBHOOK_SECRET: secret }
    const given = (text: string) => JSON.stringify({ headers, body: text })
    await writeFile(join(folder, 'genuine.json'), given(body))
    await writeFile(join(folder, 'forged.json'), given(body.replace('ended', 'Ended')))
    const { Node: node, Python: python, PHP: php } = verifySamples
    const programs: [string, string, string][] = [
      [
        process.execPath,
        'verify.mjs',
        `${node}\nimport { readFileSync } from 'node:fs'\nfor (const name of ['genuine', 'forged']) {
           const { body, headers } = JSON.parse(readFileSync(new URL(name + '.json', '${pathToFileURL(folder)}/')))
           console.log(isGenuine(Buffer.from(body), headers)) }`,
      ],
      [
        'python3',
        'verify.py',
        `${python}\nimport json\nfor name in ['genuine', 'forged']:
    given = json.load(open(name + '.json'))
    print(str(is_genuine(given['body'].encode(), given['headers'])).lower())`,
      ],
      [
        'php',
        'verify.php',
        `${php}\nforeach (['genuine', 'forged'] as $name) {
           $given = json_decode(file_get_contents("$name.json"), true);
           echo isGenuine($given['body'], $given['headers']) ? 'true' : 'false', PHP_EOL; }`,
      ],
    ]
    for (const [command, file, source] of programs) {
      if (spawnSync(command, ['-v']).error) continue
      await writeFile(join(folder, file), source)
      const { stdout } = await execute(command, [file], { cwd: folder, env })
      assert.deepEqual(stdout.trim().split(/\s+/), ['true', 'false'], command)
    }
  }

  test('deliveries of other processes appear by themselves, filtered by state, and failed ones are sent again', async (t) => {
    let status = 500
    const receiver = await startReceiver(t, (_received, response) => response.writeHead(status).end(hostile))
    const { webhookId } = await createWebhook(service.url, `${receiver.url}/failing`)
    await open(t, `production/webhooks/${webhookId}`)
    await page.getByText('No deliveries yet').waitFor()
    await post(`${service.url}/webhooks/${webhookId}/test`)
    const deliveries = page.getByRole('region', { name: 'Deliveries' })
    await deliveries
      .getByText('Failed', { exact: true })
      .and(deliveries.locator('li *'))
      .waitFor({ timeout: 0 })
    await deliveries.getByLabel('State').selectOption('succeeded')
    await page.getByText('No deliveries in this state.').waitFor()
    status = 204
    await page.getByRole('button', { name: 'Resend failed' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Send again' }).click()
    await deliveries.locator('li').getByText('Succeeded').waitFor()
  })

  test('a webhook that another window has changed is not overwritten', async (t) => {
    const { webhookId } = await createWebhook(service.url, 'https://example.com/first')
    await open(t, `production/webhooks/${webhookId}`)
    const dialog = page.getByRole('dialog')
    const url = dialog.getByLabel('URL')
    const change = (json: object) => call(`${service.url}/webhooks/${webhookId}`, { method: 'PATCH', json })
    const stored = async () => (await call(`${service.url}/webhooks/${webhookId}`)).body.url
    await page.getByRole('button', { name: 'Edit' }).click()
    await url.fill('https://example.com/mine')
    await change({ url: 'https://example.com/theirs' })
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('https://example.com/theirs').waitFor()
    assert.equal(await stored(), 'https://example.com/theirs')
    assert.equal(await url.inputValue(), 'https://example.com/mine', 'what was typed stays')
    await dialog.getByRole('button', { name: 'Use theirs' }).click()
    assert.equal(await url.inputValue(), 'https://example.com/theirs')
    await url.fill('https://example.com/mine')
    // Only what was shown is replaced.
    await change({ url: 'https://example.com/again' })
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('https://example.com/again').waitFor()
    assert.equal(await stored(), 'https://example.com/again')
    await dialog.getByRole('button', { name: 'Keep mine' }).click()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'https://example.com/mine' }).waitFor()
    assert.equal(await stored(), 'https://example.com/mine')
  })

  test('a theme is previewed while it is edited, and saved without overwriting other changes', async (t) => {
    const clip = join(await temporaryFolder(t), 'clip.mp4')
    await makeClip(clip, { size: '320x180', seconds: 1, audioCodec: 'aac' })
    const { playerId } = (await post(`${service.url}/players`, { name: hostile })).body
    const videoId = await uploadVideo(service, clip, { title: hostile, playerId })
    await open(t, `production/themes/${playerId}`)
    await page.getByRole('region', { name: 'Videos with this theme' }).getByRole('link').waitFor()
    const player = page.getByTitle('Player with this theme')
    await player.waitFor({ timeout: 0 })
    assert.match((await player.getAttribute('src'))!, /#analytics:false;/)
    const frame = (await (await player.elementHandle())!.contentFrame())!
    const colorOf = (name: string) =>
      frame
        .evaluate(`document.querySelector('media-controller')?.style.getPropertyValue('${name}')`)
        // The frame may still be loading.
        .catch(() => undefined)

    await page.getByLabel('Buttons', { exact: true }).fill('red')
    await waitFor(async () => (await colorOf('--link')) === 'red')
    await page.getByLabel('Timeline: played part: opacity').fill('50')
    await waitFor(async () => (await colorOf('--track-played')) === 'rgba(88, 131, 255, 0.5)')
    await page.getByLabel('Hide title').check()
    await frame.waitForSelector('.title.off', { state: 'attached' })
    await page.getByLabel('Text', { exact: true }).fill('rgba(0, 0, 0, .5)')
    await page.getByText('Text: the contrast').waitFor()
    const saved = async () => (await call(`${service.url}/players/${playerId}`)).body
    assert.equal((await saved()).hideTitle, false, 'nothing is saved yet')

    await page.getByLabel('Behind the title', { exact: true }).fill('url(javascript:alert(1))')
    await page.getByText('Enter a CSS color').waitFor()
    const patchResponse = () => page.waitForResponse((response) => response.request().method() === 'PATCH')
    const refused = patchResponse()
    await page.getByRole('button', { name: 'Save' }).click()
    assert.equal((await refused).status(), 400)
    await page.getByText('Enter a CSS color').waitFor()
    await page.getByLabel('Behind the title', { exact: true }).fill('navy')

    // Another window saves while this one waits for the server and is edited again.
    const other = Promise.withResolvers<void>()
    const path = `**/players/${playerId}`
    await page.route(path, (route) => other.promise.then(() => route.continue()))
    const asked = page.waitForRequest(path)
    // To any request: the page loads the theme before it saves, and may abort an earlier request for it.
    const answered = page.waitForResponse(path)
    await page.getByRole('button', { name: 'Save' }).click()
    await asked
    await page.getByLabel('Behind the title', { exact: true }).fill('black')
    const json = { link: 'blue', linkHover: 'green' }
    await call(`${service.url}/players/${playerId}`, { method: 'PATCH', json })
    other.resolve()
    await answered
    await page.unroute(path)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').filter({ hasText: 'Changed elsewhere' }).getByText('Buttons').waitFor()
    assert.equal((await saved()).link, 'blue')
    await page.getByRole('button', { name: 'Keep mine' }).click()
    await page.getByRole('button', { name: 'Save' }).click()
    await waitForToast(page, 'Theme saved')
    const { link, linkHover, hideTitle, trackPlayed, backgroundTop } = await saved()
    assert.deepEqual(
      { link, linkHover, hideTitle, trackPlayed, backgroundTop },
      {
        link: 'red',
        linkHover: 'green',
        hideTitle: true,
        trackPlayed: 'rgba(88, 131, 255, 0.5)',
        backgroundTop: 'black',
      },
    )

    // A change that is reverted while it is being saved becomes a change again.
    const reverted = Promise.withResolvers<void>()
    const buttons = page.getByLabel('Buttons', { exact: true })
    await buttons.fill('orange')
    await page.route(path, (route) => reverted.promise.then(() => route.continue()))
    const patched = patchResponse()
    await page.getByRole('button', { name: 'Save' }).click()
    await buttons.fill('red')
    reverted.resolve()
    await patched
    await page.unroute(path)
    await waitFor(async () => (await saved()).link === 'orange')
    await page.getByRole('button', { name: 'Save' }).click()
    await waitFor(async () => (await saved()).link === 'red')

    await uploadLogo('https://example.com/logo')
    await waitFor(
      async () => (await frame.evaluate(`document.querySelectorAll('a.logo-link img').length`)) === 1,
    )
    assert.equal((await saved()).assets.link, 'https://example.com/logo')

    await page.goto(`${address}/dashboard/production/themes`)
    const logo = page.getByAltText('Yes')
    await waitFor(() => logo.evaluate((image: { naturalWidth: number }) => image.naturalWidth === 1))
    await page.getByRole('link', { name: hostile }).click()
    await page.getByLabel('Buttons', { exact: true }).fill('yellow')
    await page.getByRole('link', { name: 'Videos', exact: true }).click()
    await page.getByText('Leave without saving?').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    // What is deleted cannot be saved any more.
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { name: 'Player themes' }).waitFor()
    assert.equal((await call(`${service.url}/videos/${videoId}`)).body.playerId, null)
  })

  async function uploadLogo(link: string) {
    const png =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
    const file = page.getByLabel('Image file')
    await file.setInputFiles({ name: 'x.png', mimeType: 'image/png', buffer: Buffer.from('not an image') })
    await page.getByRole('button', { name: 'Upload', exact: true }).click()
    await page.getByText('The file is neither a JPEG nor a PNG image.').waitFor()
    await file.setInputFiles({ name: 'x.png', mimeType: 'image/png', buffer: Buffer.from(png, 'base64') })
    await page.getByLabel('Link', { exact: true }).fill(link)
    await page.getByRole('button', { name: 'Upload', exact: true }).click()
    await page.getByAltText('Current logo').waitFor()
  }

  test('the system shows failures of its environment, and no secrets', async (t) => {
    const videoId = await createVideo(service, { title: hostile })
    await query(
      service.database,
      `insert into encodings (video_id, environment, state, failure, created_at, finished_at)
       values ($1, 'production', 'failed', $2, now(), now())`,
      [videoId, hostile],
    )
    // The file never arrives, so it cannot be encoded again.
    const files = await startReceiver(t, (_received, response) => response.writeHead(404).end())
    await post(`${service.url}/videos`, { title: 'Not fetched', source: `${files.url}/film.mp4` })
    await open(t, 'production/system')
    const processes = page.getByRole('region', { name: 'Processes' }).first()
    await processes.getByText('api, worker, live').waitFor()
    await processes.getByText('Now', { exact: true }).waitFor()
    await page.getByRole('region', { name: 'Backup and certificate' }).getByText('None').waitFor()
    // The checks run in the background.
    const checks = page.getByRole('region', { name: 'Checks' })
    await checks
      .getByText(/^(No problems found|Warning|Problem)$/)
      .first()
      .waitFor()
    const failures = page.getByRole('region', { name: 'Failures' }).first()
    await failures.getByText(hostile).nth(1).waitFor()
    await failures.getByRole('button', { name: `Retry ${hostile}` }).waitFor()
    const notFetched = failures.getByRole('row', { name: 'Not fetched' })
    await notFetched.getByText('status 404').waitFor()
    assert.equal(await notFetched.getByRole('button').count(), 0)
    await page.getByLabel('Search settings').fill('allow_private')
    await page.getByText('KINORA_ALLOW_PRIVATE_NETWORKS').waitFor()
    await page.getByText('KINORA_HOST').waitFor({ state: 'hidden' })
    await page.getByLabel('Search settings').fill('')
    await page.getByText('KINORA_PRODUCTION_KEY').first().waitFor()
    const html = await page.content()
    assert.ok(!html.includes(productionKey) && !html.includes(sandboxKey))
    await page.goto(`${address}/dashboard/sandbox/system`)
    await page.getByText('No failures.').waitFor()
    await page.getByRole('link', { name: '2 more in Production' }).waitFor()
  })
})
