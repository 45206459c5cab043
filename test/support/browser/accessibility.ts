import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'

/** A script that defines `axe` in a page. */
export const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** Checks that axe finds nothing in the page. `state` says in which state the page is. */
export async function assertAccessible(page: Page, state?: string): Promise<void> {
  if (!(await page.evaluate(`'axe' in window`))) await page.evaluate(axe)
  const found = await page.evaluate(`axe.run(document, { resultTypes: ['violations'], iframes: false })
    .then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html)))`)
  assert.deepEqual(found, [], state)
}
