import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadReference } from './reference.ts'

test('without a build there is no reference, so the service shows the page without scripts', async () => {
  assert.equal(await loadReference(join(tmpdir(), 'kinora-none')), undefined)
})

test('the page loads the files of the build, and works without scripts', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'kinora-'))
  t.after(() => rm(folder, { recursive: true }))
  const names = { scalar: 'scalar-1.js', script: 'main-2.js', style: 'style-3.css' }
  await writeFile(join(folder, 'manifest.json'), JSON.stringify(names))
  for (const name of [...Object.values(names), 'built-from']) await writeFile(join(folder, name), name)
  const reference = await loadReference(folder)
  assert.deepEqual([...(reference?.files.keys() ?? [])].sort(), Object.values(names).sort())
  const page = reference?.page.body.toString() ?? ''
  for (const name of Object.values(names)) assert.ok(page.includes(`"/docs/assets/${name}"`), name)
  assert.match(page, /<noscript>.*url=\/docs\/plain/)
})
