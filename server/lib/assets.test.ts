import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseEncoding } from './assets.ts'

test('an encoding that the client does not accept is not chosen', () => {
  const both = { encoded: { br: Buffer.alloc(1), gzip: Buffer.alloc(1) } }
  assert.equal(chooseEncoding(both, undefined), undefined)
  assert.equal(chooseEncoding(both, 'gzip'), 'gzip')
  assert.equal(chooseEncoding(both, 'br;q=0, gzip;q=0.5'), 'gzip')
  assert.equal(chooseEncoding(both, '*'), 'br')
  assert.equal(chooseEncoding(both, '*, br;q=0'), 'gzip')
  assert.equal(chooseEncoding(both, 'identity'), undefined)
  assert.equal(chooseEncoding({ encoded: {} }, 'br, gzip'), undefined)
})
