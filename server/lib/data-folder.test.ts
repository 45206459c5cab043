import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explainDataFolderError } from './data-folder.ts'

test('a data folder that cannot be written has a sentence with its path and what to do', async () => {
  const explain = (code: string) =>
    explainDataFolderError(Object.assign(new Error(`${code}: reason`), { code }), '/no/such/data')
  assert.match(await explain('EROFS'), /^The data folder \/no\/such\/data is on a read-only file system: /)
  assert.match(await explain('EACCES'), /run chown -R \d+:\d+ \/no\/such\/data as root/)
  assert.equal(await explain('EIO'), 'The data folder /no/such/data cannot be used: EIO: reason.')
})
