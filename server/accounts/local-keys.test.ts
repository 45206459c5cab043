import assert from 'node:assert/strict'
import { chmod, mkdtemp, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { provideLocalKeys, readLocalKeys } from './local-keys.ts'

const newFolder = () => mkdtemp(join(tmpdir(), 'kinora-'))
const fileName = 'local-keys.json'

test('processes that start at the same time get the same keys, which only this user can read', async () => {
  const data = await newFolder()
  assert.equal(await readLocalKeys(data), undefined)
  const [first, ...others] = await Promise.all(Array.from({ length: 5 }, () => provideLocalKeys(data)))
  for (const keys of [...others, await readLocalKeys(data), await provideLocalKeys(data)])
    assert.deepEqual(keys, first)
  assert.notEqual(first!.production, first!.sandbox)
  assert.deepEqual(await readdir(data), [fileName])
  assert.equal((await stat(join(data, fileName))).mode & 0o777, 0o600)
})

test('keys that others could read, links and damaged files are not used but replaced', async () => {
  const data = await newFolder()
  const path = join(data, fileName)
  const exposed = await provideLocalKeys(data)
  const text = await readFile(path, 'utf8')
  await chmod(path, 0o640)
  assert.equal(await readLocalKeys(data), undefined)
  assert.notEqual((await provideLocalKeys(data)).production, exposed.production)
  for (const damage of ['', 'null', '{}', '{"production":"","sandbox":""}', ' '.repeat(5_000)]) {
    await writeFile(path, damage)
    assert.equal(await readLocalKeys(data), undefined)
    assert.deepEqual(await provideLocalKeys(data), await readLocalKeys(data))
  }
  const other = await newFolder()
  await writeFile(join(other, 'target'), text, { mode: 0o600 })
  await symlink(join(other, 'target'), join(other, fileName))
  assert.equal(await readLocalKeys(other), undefined)
})
