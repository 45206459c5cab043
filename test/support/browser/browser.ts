import { accessSync, constants } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { delimiter, join, resolve } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { root, timeoutMs } from '../harness.ts'

/** A missing browser is a failure, so that these tests are not skipped unnoticed. */
export const skip = process.env.TEST_CHROMIUM === 'none' ? 'TEST_CHROMIUM=none' : false

/** Searches in the same way as scripts/setup.mjs. */
function findChromium(): string {
  const names = [
    'chromium-headless-shell',
    'chromium',
    'chromium-browser',
    'google-chrome',
    'google-chrome-stable',
  ]
  const wanted = process.env.TEST_CHROMIUM ? [process.env.TEST_CHROMIUM] : names
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean)
  const found = wanted
    .flatMap((name) => (name.includes('/') ? [resolve(root, name)] : folders.map((each) => join(each, name))))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
  if (!found)
    throw new Error(
      'Chromium is missing: run `node scripts/setup.mjs --test`, or skip the browser tests with TEST_CHROMIUM=none',
    )
  return found
}

/** Returns undefined if browser tests are skipped. */
export async function launchBrowser(args: string[] = []): Promise<Browser | undefined> {
  if (skip) return undefined
  // Without this rule the browser contacts its vendor, for example for updates.
  const isolation = '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1'
  // Pages of the same context and site share a process, which starts them with warm caches.
  const reuse = '--renderer-process-limit=1'
  const browser = await chromium.launch({
    executablePath: findChromium(),
    args: [isolation, reuse, ...args],
    timeout: timeoutMs,
  })
  // Every page waits as long as the other tests do. `newPage` calls `newContext`.
  const newContext = browser.newContext.bind(browser)
  browser.newContext = async (options) => {
    const context = await newContext(options)
    context.setDefaultTimeout(timeoutMs)
    return context
  }
  return browser
}

export type Pages = { url: string; close(): void }

/** Serves pages from a separate origin. */
export async function servePages(
  respond: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Pages> {
  const server = createServer(respond)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
