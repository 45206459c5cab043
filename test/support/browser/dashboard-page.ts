import { after, before } from 'node:test'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { type Service, waitFor } from '../harness.ts'
import { launchBrowser } from './browser.ts'
import { logIn } from './dashboard.ts'

export type DashboardBrowser = { browser: Browser; context: BrowserContext; page: Page; errors: string[] }

/** Starts a browser that is logged in, for all tests of a file. `errors` has what the page reports. */
export function dashboardBrowser(service: Service, options: BrowserContextOptions = {}): DashboardBrowser {
  const opened = { errors: [] as string[] } as DashboardBrowser
  before(async () => {
    opened.browser = (await launchBrowser())!
    const viewport = { width: 1280, height: 800 }
    opened.context = await opened.browser.newContext({ viewport, ...options })
    const [name, value] = (await logIn(service)).cookie.split('=') as [string, string]
    await opened.context.addCookies([{ name, value, url: `${service.url}/dashboard` }])
    opened.page = await opened.context.newPage()
    opened.page.on('pageerror', (error) => opened.errors.push(error.message))
    opened.page.on('console', (message) => {
      if (message.text().includes('Content Security Policy')) opened.errors.push(message.text())
    })
    // A browser asks for a file by a dialog of its own that tests cannot use. Without it the page uses an input.
    await opened.page.addInitScript('delete window.showOpenFilePicker')
    await recordToasts(opened.page)
  })
  after(() => opened.browser?.close())
  return opened
}

/**
 * Keeps the texts of toasts, which may be gone before a busy machine sees them. Those with an action, which are shown for 12
 * seconds, stay.
 */
async function recordToasts(page: Page): Promise<void> {
  await page.addInitScript(`window.shownToasts = []
    const { setTimeout } = window
    window.setTimeout = (run, ms, ...args) => setTimeout(run, ms === 12_000 ? 1_200_000 : ms, ...args)
    new MutationObserver((changes) => {
      for (const { addedNodes } of changes)
        for (const node of addedNodes)
          if (node instanceof Element && node.matches('[role=region] li')) shownToasts.push(node.textContent)
    }).observe(document, { childList: true, subtree: true })`)
}

/** Waits for a toast that no earlier call has waited for. It may be gone already. */
export async function waitForToast(page: Page, text: string): Promise<void> {
  const take = `{
    const position = shownToasts.findIndex((shown) => shown.startsWith(${JSON.stringify(text)}))
    shownToasts.splice(0, position + 1)
    position >= 0
  }`
  await waitFor(
    // The page may be about to navigate.
    () => page.evaluate<boolean>(take).catch(() => false),
    () => `there was no toast "${text}"`,
  )
}
