import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { skip } from '../support/browser/browser.ts'
import { dashboardBrowser, waitForToast } from '../support/browser/dashboard-page.ts'
import { call, root, sandboxKey, sendFile, sharedKinora, temporaryFolder } from '../support/harness.ts'
import { withoutEncoding } from '../support/programs.ts'
import { createVideo } from '../support/videos.ts'

describe('the page of the keys', { skip }, () => {
  const service = sharedKinora(withoutEncoding())
  const opened = dashboardBrowser(service, { reducedMotion: 'reduce' })
  let page: Page
  before(() => {
    page = opened.page
  })

  const post = async (path: string, json: object, key?: string) =>
    (await call(`${service.url}${path}`, { method: 'POST', json, ...(key && { key }) })).body
  const open = async (tab: string, environment = 'production') => {
    await page.goto(`${service.url}/dashboard/${environment}/keys?tab=${tab}`)
    await page.getByRole('tabpanel').waitFor()
  }
  const dialog = () => page.getByRole('dialog')
  const click = (name: string | RegExp) => page.getByRole('button', { name }).first().click()
  const confirm = () => dialog().getByRole('button', { name: 'Delete', exact: true }).click()

  test('lists nothing of the other environment, and the environment switch keeps the tab', async () => {
    const [{ token }, { token: sandboxToken }] = [
      await post('/upload-tokens', {}),
      await post('/upload-tokens', {}, sandboxKey),
    ]
    await post('/signing-keys', { name: 'Live site' })
    await post('/signing-keys', { name: 'Test site' }, sandboxKey)
    const row = (name: string) => page.getByRole('row', { name })

    await open('upload-tokens', 'sandbox')
    await row(sandboxToken.slice(0, 8)).waitFor()
    assert.equal(await row(token.slice(0, 8)).count(), 0)
    await page.getByRole('group', { name: 'Environment' }).getByText('Production').click()
    await row(token.slice(0, 8)).waitFor()
    assert.equal(await row(sandboxToken.slice(0, 8)).count(), 0)

    await open('signing-keys', 'sandbox')
    await row('Test site').waitFor()
    assert.equal(await row('Live site').count(), 0)
    await page.getByRole('group', { name: 'Environment' }).getByText('Production').click()
    await row('Live site').waitFor()
    assert.equal(await row('Test site').count(), 0)
  })

  test('shows the first tab if the URL names one that does not exist', async () => {
    await open('nothing')
    await page.getByRole('tab', { name: 'API keys', selected: true }).waitFor()
    assert.deepEqual(opened.errors, [])
  })

  test('the palette leads to upload tokens and signing keys', async () => {
    await open('api-keys')
    for (const name of ['Upload tokens', 'Signing keys']) {
      await page.keyboard.press('Control+K')
      await page.getByRole('combobox').fill(name)
      await page.getByRole('option', { name }).waitFor()
      await page.keyboard.press('Enter')
      await page.getByRole('tab', { name, selected: true }).waitFor()
    }
  })

  test('creates an upload token for one video, whose sample uploads to it until the token is deleted', async () => {
    const videoId = await createVideo(service, { title: 'Interview' })
    await open('upload-tokens')
    await click('Create upload token')
    await dialog().getByLabel('Valid for').selectOption({ label: 'Until it is deleted' })
    await dialog().getByLabel('Uploads to').selectOption({ label: 'Only “Interview”' })
    await dialog().getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByRole('dialog', { name: 'Your new upload token' }).waitFor()
    const samples = await dialog().locator('pre').allInnerTexts()
    const token = samples[0]!.trim()
    const [, url = ''] = /^curl '(.+)' -F/.exec(samples[1]!)!
    assert.equal(url, `${service.url}/upload?token=${token}`)
    await click('Done')
    const { body } = await call(`${service.url}/upload-tokens/${token}`)
    assert.deepEqual([body.videoId, body.expiresAt], [videoId, null])
    const row = page.getByRole('row', { name: token.slice(0, 8) })
    assert.equal(await row.getByRole('link').getAttribute('href'), `/dashboard/production/videos/${videoId}`)

    const sent = await sendFile(url, Buffer.from('not a video'), { key: '' })
    assert.deepEqual([sent.status, sent.body.videoId], [201, videoId])
    await row.getByRole('button', { name: 'Delete' }).click()
    await confirm()
    await waitForToast(page, 'Upload token deleted')
    await row.waitFor({ state: 'detached' })
    assert.equal((await sendFile(url, Buffer.from('more'), { key: '' })).status, 401)
  })

  test('creates a signing key, whose sample opens private videos until the key is deleted', async (t) => {
    const videoId = await createVideo(service, { title: 'Members only', public: false })
    await open('signing-keys')
    await click('Create signing key')
    await dialog().getByLabel('Name').fill('Club')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Your new signing key' }).waitFor()
    const [privateKey = '', sample = ''] = await dialog().locator('pre').allInnerTexts()
    const [saved] = await Promise.all([page.waitForEvent('download'), click('Download signing-key.pem')])
    const folder = await temporaryFolder(t)
    await saved.saveAs(join(folder, saved.suggestedFilename()))
    assert.match(privateKey, /^-----BEGIN PRIVATE KEY-----/)
    await click('Done')

    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
    await writeFile(join(folder, 'sign.mjs'), sample)
    const { stdout } = await promisify(execFile)(process.execPath, ['sign.mjs', videoId], { cwd: folder })
    const status = async () => (await fetch(stdout.trim())).status
    assert.equal(await status(), 200)

    const row = page.getByRole('row', { name: 'Club' })
    await row.getByRole('button', { name: 'Use' }).click()
    assert.equal(await dialog().getByText('-----BEGIN').count(), 0)
    await click('Done')
    await row.getByRole('button', { name: 'Delete' }).click()
    await dialog().getByText('also for viewers who are watching').waitFor()
    await confirm()
    await waitForToast(page, 'Signing key deleted')
    await row.waitFor({ state: 'detached' })
    assert.equal(await status(), 403)
    assert.deepEqual(opened.errors, [])
  })
})
