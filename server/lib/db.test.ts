import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { DatabaseError, isRestarting } from './database/errors.ts'
import { retryWhile } from './database/retry.ts'
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

test('the end of a connection is reported unless its pool is being closed', async () => {
  const reported: string[] = []
  const pool = openPool('postgres://user@localhost/kinora', ({ message }) => reported.push(message))
  pool.emit('error', new Error('connection reset'))
  const ended = pool.end()
  pool.emit('error', new Error('terminating connection due to administrator command'))
  await ended
  assert.deepEqual(reported, ['connection reset'])
})

test('a query at the start is retried for a minute, and as long as the server says that it is starting', async (t) => {
  mock.timers.enable({ apis: ['Date'] })
  t.after(() => mock.timers.reset())
  const startWith = async (codes: string[]) => {
    let tries = 0
    const failing = retryWhile({ isRetryable: isRestarting }, async () => {
      const code = codes[tries++]
      if (code === undefined) return tries
      mock.timers.setTime(Date.now() + 40_000)
      throw Object.assign(new Error(`failed with ${code}`), { code })
    })
    return failing.catch((error) => [tries, error instanceof DatabaseError, error.message])
  }
  const refused = 'ECONNREFUSED'
  assert.equal(await startWith([refused]), 2)
  assert.deepEqual(await startWith([refused, refused]), [
    ...[2, true, 'The database cannot be reached: failed with ECONNREFUSED.'],
  ])
  assert.equal(await startWith(['57P03', '57P03', '57P03', refused]), 5)
  // A wrong password and a missing database are no reason to wait.
  for (const code of ['28P01', '3D000'])
    assert.deepEqual(await startWith([code]), [1, false, `failed with ${code}`])
})
