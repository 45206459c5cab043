import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { root } from '../support/harness.ts'

test('every folder of tests has a main path for npm run test:quick', () => {
  const folders = globSync(join(root, 'test/*/')).filter((folder) => basename(folder) !== 'support')
  assert.ok(folders.length > 5)
  for (const folder of folders) assert.notEqual(globSync(join(folder, '*.main.test.ts')).length, 0, folder)
})
