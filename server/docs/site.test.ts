import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { scriptedReference } from './reference.ts'
import { loadSite } from './site.ts'

test('without a build, pages load nothing, and the API reference is the page without scripts', async () => {
  const site = await loadSite(join(tmpdir(), 'kinora-none'))
  assert.deepEqual(site, { files: new Map(), tags: '', referenceTags: undefined })
})

test('the API page loads the files of the build, and works without scripts', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'kinora-'))
  t.after(() => rm(folder, { recursive: true }))
  const manifest = {
    'site.ts': { file: 'site-1.js', css: ['site-2.css'], assets: ['geist-latin-wght-normal-3.woff2'] },
    'reference.ts': { file: 'reference-4.js', css: ['reference-5.css'] },
    'scalar.js': { file: 'scalar-6.js' },
  }
  const names = Object.values(manifest).flatMap((each) => Object.values(each).flat())
  await writeFile(join(folder, 'manifest.json'), JSON.stringify(manifest))
  for (const name of [...names, 'built-from']) await writeFile(join(folder, name), name)
  const site = await loadSite(folder)
  assert.deepEqual([...site.files.keys()].sort(), [...names].sort())
  const page = scriptedReference(site)
  for (const name of names) assert.ok(page.includes(`"/docs/assets/${name}"`), name)
  assert.match(page, /<noscript>.*url=\/docs\/plain/)
})
