import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { decryptCredentials, encryptCredentials } from './credentials.ts'

test('credentials can be read with the secret of the service and for their run only', () => {
  const secret = randomBytes(32)
  const stored = encryptCredentials(secret, 'import_1', { key: 'the key' })
  assert.ok(!stored.includes('the key'))
  assert.deepEqual(decryptCredentials(secret, 'import_1', stored), { key: 'the key' })
  assert.throws(() => decryptCredentials(secret, 'import_2', stored))
  assert.throws(() => decryptCredentials(randomBytes(32), 'import_1', stored))
})
