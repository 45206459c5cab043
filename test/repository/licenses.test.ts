import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { call, root, sharedKinora } from '../support/harness.ts'

// The license texts of the packages whose code the pages load.

const service = sharedKinora({ KINORA_ROLES: 'api' })

const filesOf = async (folder: string, name: RegExp) =>
  (await readdir(join(root, folder), { recursive: true }))
    .filter((file) => name.test(file))
    .map((file) => join(root, folder, file))

/** The sections of a file of licenses: the name of each package, and its text. */
const sectionsOf = (text: string) =>
  new Map(
    text
      .split(/^## /m)
      .slice(1)
      .map((section) => {
        const [heading = '', ...lines] = section.split('\n')
        return [heading.split(' - ')[0]!, lines.join('\n')] as const
      }),
  )

const read = async (path: string) => {
  const { status, headers, text } = await call(service.url + path, { key: '' })
  assert.equal(status, 200, path)
  assert.equal(headers.get('content-type'), 'text/plain; charset=utf-8')
  assert.equal(headers.get('cache-control'), 'no-cache')
  return sectionsOf(text)
}

for (const { name, path } of [
  { name: 'player', path: '/player/THIRD_PARTY_LICENSES.md' },
  { name: 'dashboard', path: '/dashboard/assets/THIRD_PARTY_LICENSES.md' },
])
  describe(`the licenses of the ${name}`, () => {
    test('contain every package that it imports, each with its text', async () => {
      const sections = await read(path)
      const { dependencies } = JSON.parse(await readFile(join(root, 'web/package.json'), 'utf8'))
      const imported = new Set<string>()
      for (const file of await filesOf(`web/${name}`, /(?<!\.test|\.d|config)\.tsx?$/)) {
        const source = await readFile(file, 'utf8')
        for (const [, type, specifier] of source.matchAll(
          /^(?:import|export) (type )?(?:[^'"]* from )?'([^'.][^']*)'|import\('([^'.][^']*)'\)/gm,
        ))
          if (!type && specifier) imported.add(/^(?:@[^/]+\/)?[^/]+/.exec(specifier)![0])
      }
      assert.ok(imported.size >= 2, [...imported].join())
      assert.deepEqual(
        [...imported].filter((each) => each in dependencies && !sections.has(each)),
        [],
      )
      for (const [each, text] of sections) assert.match(text, /Copyright[\s\S]{200}/i, each)
    })

    test('are named by the first script', async () => {
      const manifest: Record<string, { file: string; isEntry?: boolean }> = JSON.parse(
        await readFile(join(root, `web/${name}/dist/manifest.json`), 'utf8'),
      )
      const entries = Object.values(manifest).filter(({ isEntry }) => isEntry)
      assert.ok(entries.length > 0)
      for (const { file } of entries) {
        const script = await readFile(join(root, `web/${name}/dist`, file), 'utf8')
        assert.ok(script.includes(`/*! Licenses: ${path} */`), file)
      }
    })
  })

test('the script of the API page names its licenses', async () => {
  const { text: page } = await call(`${service.url}/docs`, { key: '' })
  const [, script = ''] = /<script src="(\/docs\/assets\/scalar-[^"]+)"/.exec(page) ?? []
  const { text } = await call(service.url + script, { key: '' })
  const [, path = ''] = /^\/\*! Licenses: (\S+) \*\//.exec(text) ?? []
  const sections = await read(path)
  assert.match(sections.get('@scalar/api-reference')!, /Copyright[\s\S]{200}/)
  assert.match(sections.get('Notices in its script')!, /focus-trap/)
})
