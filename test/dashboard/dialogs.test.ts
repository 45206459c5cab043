import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { skip } from '../support/browser/browser.ts'
import { dashboardBrowser } from '../support/browser/dashboard-page.ts'
import { call, sharedKinora } from '../support/harness.ts'
import { createWebhook, post } from '../support/receiver.ts'
import { createVideo } from '../support/videos.ts'

describe('a dialog of the dashboard', { skip }, () => {
  const service = sharedKinora()
  const opened = dashboardBrowser(service, { reducedMotion: 'reduce' })
  let page: Page
  before(() => {
    page = opened.page
  })

  const open = async (path: string) => {
    await page.goto(`${service.url}/dashboard/production/${path}`)
    await page.locator('main').getByRole('heading').first().waitFor()
  }
  const click = (name: string) => page.getByRole('button', { name, exact: true }).first().click()
  const dialog = () => page.getByRole('dialog')

  test('creates what was typed when Enter is pressed', async () => {
    await open('keys')
    await click('Create key')
    await dialog().waitFor()
    await page.keyboard.type('My laptop')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Your new key' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('cell', { name: 'My laptop', exact: true }).waitFor()
  })

  test('gives the focus to its first field', async () => {
    const videoId = await createVideo(service, { title: 'Selected' })
    const { webhookId } = await createWebhook(service.url, 'https://example.com/hook')
    const { liveStreamId } = (await post(`${service.url}/live-streams`, { name: 'Show' })).body
    const dialogs: [path: string, button: string, field: string][] = [
      ['keys', 'Create key', 'Name'],
      ['keys?tab=upload-tokens', 'Create upload token', 'Valid for'],
      ['keys?tab=signing-keys', 'Create signing key', 'Name'],
      ['themes', 'Create theme', 'Name'],
      ['webhooks', 'Create webhook', 'URL'],
      [`webhooks/${webhookId}`, 'Edit', 'URL'],
      [`webhooks/${webhookId}`, 'Send test event', 'Event'],
      [`webhooks/${webhookId}`, 'Rotate', 'Keep the previous secret for'],
      [`webhooks/${webhookId}`, 'Resend failed', 'Failed in the last'],
      ['videos', 'Import from URL', 'File URL'],
      ['live', 'Create live stream', 'Name'],
      [`live/${liveStreamId}`, 'Add restream', 'Name'],
      [`videos/${videoId}?tab=captions`, 'Upload', 'Language tag'],
      [`videos/${videoId}?tab=captions`, 'Write captions', 'Language tag'],
      [`videos/${videoId}?tab=chapters`, 'Write chapters', 'Language tag'],
    ]
    const focused: typeof dialogs = []
    for (const [path, button] of dialogs) {
      await open(path)
      await click(button)
      focused.push([path, button, await focusedLabel()])
    }
    assert.deepEqual(focused, dialogs)

    await open('videos')
    await page.getByRole('checkbox', { name: /Selected/ }).check()
    await click('Tags')
    assert.equal(await focusedLabel(), 'Add')

    await open('videos')
    await click('Account')
    await page.getByRole('menuitem', { name: 'Change password' }).click()
    // The menu closes after the dialog has opened, and does not take the focus.
    await page.getByRole('menu').waitFor({ state: 'detached' })
    assert.equal(await focusedLabel(), 'New password')
  })

  /** The label of what has the focus in the open dialog. */
  async function focusedLabel(): Promise<string> {
    const focused = dialog().locator(':focus')
    await focused.waitFor()
    return focused.evaluate(
      (element: { labels?: { innerText: string }[]; ariaLabel: string | null }) =>
        element.labels?.[0]?.innerText ?? element.ariaLabel ?? '',
    )
  }

  test('that only asks for a confirmation does nothing when Enter is pressed', async () => {
    const { webhookId } = await createWebhook(service.url, 'https://example.com/kept')
    await open(`webhooks/${webhookId}`)
    await click('Delete')
    await dialog().locator(':focus').waitFor()
    await page.keyboard.press('Enter')
    await dialog().waitFor({ state: 'hidden' })
    assert.equal((await call(`${service.url}/webhooks/${webhookId}`)).status, 200)
    assert.deepEqual(opened.errors, [])
  })
})
