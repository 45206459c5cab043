import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { kinora, query, runKinora, temporaryFolder } from '../support/harness.ts'

const health = (env: Record<string, string>, ...args: string[]) => runKinora(['health', ...args], env)

test('the health command finds the service by its settings', async (t) => {
  const { url, data } = await kinora(t, { KINORA_HOST: '0.0.0.0', KINORA_ROLES: 'api' })
  const KINORA_PORT = new URL(url).port
  const [ready, alive, json, found, wrong] = await Promise.all([
    health({ KINORA_PORT, KINORA_HOST: '0.0.0.0' }),
    health({ KINORA_PORT }, '--alive'),
    health({ KINORA_PORT }, '--json'),
    health({ KINORA_PORT: '0', KINORA_DATA_DIR: data }),
    health({ KINORA_PORT, KINORA_PRT: '1' }),
  ])
  assert.deepEqual(ready, { code: 0, stdout: 'The service is ready.\n', stderr: '' })
  assert.deepEqual(alive, { code: 0, stdout: 'The service is alive.\n', stderr: '' })
  assert.deepEqual([json.code, JSON.parse(json.stdout).status], [0, 'ready'])
  assert.deepEqual([found.code, found.stdout], [0, 'The service is ready.\n'], found.stderr)
  assert.equal(wrong.code, 1)
})

test('a process of any role with its own certificate is alive, but not ready without its database', async (t) => {
  const folder = await temporaryFolder(t)
  const tls = { KINORA_TLS_CERT: join(folder, 'cert.pem'), KINORA_TLS_KEY: join(folder, 'key.pem') }
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const files = ['-keyout', tls.KINORA_TLS_KEY, '-out', tls.KINORA_TLS_CERT]
  const subject = ['-subj', '/CN=video.example.com', '-days', '1']
  execFileSync('openssl', ['req', '-x509', ...key, ...subject, ...files], { stdio: 'pipe' })
  const { url, database } = await kinora(t, { ...tls, KINORA_ROLES: 'worker' })
  const env = { ...tls, KINORA_PORT: new URL(url).port }
  assert.deepEqual(await health(env), { code: 0, stdout: 'The service is ready.\n', stderr: '' })

  const server = new URL(database)
  server.pathname = '/postgres'
  await query(server.href, `drop database ${new URL(database).pathname.slice(1)} with (force)`)
  const [alive, ready] = await Promise.all([health(env, '--alive'), health(env)])
  assert.equal(alive.code, 0, alive.stderr)
  assert.deepEqual(ready, {
    code: 1,
    stdout: '',
    stderr: 'kinora: The service is not ready: it cannot reach its database.\n',
  })
})

test('the health command fails if nothing or another program listens on the port', async (t) => {
  const other = createServer((_request, response) => response.end('<h1>It works!</h1>'))
  t.after(() => other.close())
  await once(other.listen(0, '127.0.0.1'), 'listening')
  const KINORA_PORT = String((other.address() as AddressInfo).port)
  const KINORA_DATA_DIR = await temporaryFolder(t)
  const results = await Promise.all([
    health({ KINORA_PORT }),
    health({ KINORA_PORT: '9' }, '--alive'),
    health({ KINORA_PORT: '0', KINORA_DATA_DIR }),
  ])
  const expected = [/response is not that of/, /127\.0\.0\.1:9\/healthz does not respond: .+/, /No service/]
  for (const [i, { code, stdout, stderr }] of results.entries()) {
    assert.deepEqual([code, stdout], [1, ''], stderr)
    assert.match(stderr, /^kinora: [^\n]+\.\n$/)
    assert.match(stderr, expected[i]!)
  }
})
