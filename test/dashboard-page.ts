import { after, before } from 'node:test'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { launchBrowser } from './browser.ts'
import { logIn } from './dashboard.ts'
import type { Service } from './harness.ts'

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
  })
  after(() => opened.browser?.close())
  return opened
}
