import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPool } from './db.ts'

test('the URL of the database sets how long a request waits for a connection', async () => {
  const cases = [
    ['postgres://user@localhost/kinora', 5_000],
    ['postgres://user@localhost/kinora?connect_timeout=10', 10_000],
    ['postgres://user@localhost/kinora?host=%2Ftmp&connect_timeout=2', 2_000],
    ['postgres://user@localhost/kinora?connect_timeout=9999999999', 2 ** 31 - 1],
    ['postgres://user@localhost/kinora?connect_timeout=0', 5_000],
    ['postgres://user@localhost/kinora?connect_timeout=soon', 5_000],
  ] as const
  for (const [url, expected] of cases) {
    const pool = openPool(url, () => {})
    assert.equal(pool.options.connectionTimeoutMillis, expected, url)
    await pool.end()
  }
})
