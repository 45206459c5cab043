import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'vite'
import { servePages } from '../browser/browser.ts'
import { waitFor } from '../harness.ts'
import type { Reader } from './docs-reader.ts'
import type { Block } from './markdown.ts'

/** Opens a page with the HTML and checks that its player is served. The page stays open until the reader is closed. */
export async function openHtml(reader: Reader, { text, place }: Block): Promise<void> {
  const { service, browser } = reader.place
  assert.ok(browser)
  const site = await servePages((_, response) =>
    response.setHeader('content-type', 'text/html').end(`<!doctype html>${reader.adapt(text)}`),
  )
  const page = await browser.newPage()
  reader.ends.push(() => page.close(), site.close)
  const loaded = page.waitForResponse((response) => response.url().startsWith(`${service.url}/vod/`))
  await page.goto(site.url)
  assert.equal((await loaded).status(), 200, place)
}

/** Bundles a script with its packages. */
async function bundle(reader: Reader, text: string): Promise<string> {
  const { folder } = reader.place
  const entry = join(folder, 'in-page.js')
  await writeFile(entry, reader.adapt(text))
  const built = await build({
    configFile: false,
    root: folder,
    logLevel: 'silent',
    build: { write: false, minify: false, lib: { entry, formats: ['es'], fileName: 'script' } },
  })
  const files = [built].flat().flatMap((each) => ('output' in each ? each.output : []))
  return files.flatMap((each) => (each.type === 'chunk' ? [each.code] : [])).join('\n')
}

const pageForScripts =
  '<!doctype html><input type="file"><div id="target"></div><script type="module" src="script.js"></script>'

/** Runs a script in a page that has an input and a target. The script logs when it is done. */
export async function runInPage(reader: Reader, { text, place }: Block): Promise<void> {
  const { folder, browser } = reader.place
  assert.ok(browser)
  const script = await bundle(reader, text)
  const site = await servePages(({ url }, response) =>
    url === '/'
      ? response.setHeader('content-type', 'text/html').end(pageForScripts)
      : response.setHeader('content-type', 'text/javascript').end(script),
  )
  const page = await browser.newPage()
  reader.ends.push(() => page.close(), site.close)
  const messages: string[] = []
  page.on('pageerror', ({ message }) => messages.push(`error: ${message}`))
  page.on('console', (message) => messages.push(`${message.type()}: ${message.text()}`))
  await page.goto(site.url)
  if (text.includes("'input'")) await page.setInputFiles('input', join(folder, 'film.mp4'))
  await waitFor(() => messages.length > 0)
  assert.match(messages[0]!, /^log: /, place)
}
