import { accessSync, constants } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { delimiter, join, resolve } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { root } from './harness.ts'

const executablePath = findChromium()

/** Why tests in a browser are left out, if they are. */
export const skip = executablePath ? false : 'there is no Chromium here'

/** As scripts/setup.mjs does it. */
function findChromium(): string | undefined {
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
  const wanted = process.env.TEST_CHROMIUM ? [process.env.TEST_CHROMIUM] : names
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean)
  return wanted
    .flatMap((name) => (name.includes('/') ? [resolve(root, name)] : folders.map((each) => join(each, name))))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}

/** Undefined where there is none. */
export async function launchBrowser(args: string[] = []): Promise<Browser | undefined> {
  // Left to itself, the browser asks its maker for updates and the like.
  const isolation = '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1'
  return executablePath ? chromium.launch({ executablePath, args: [isolation, ...args] }) : undefined
}

export type Pages = { url: string; close(): void }

/** Serves pages from an origin of their own. */
export async function servePages(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Pages> {
  const server = createServer(answer)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
