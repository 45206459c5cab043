import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { call, kinora, MiB, openUpload, waitFor } from '../support/harness.ts'
import { createVideo, sourceUrl } from '../support/videos.ts'

const sendStop = ({ process: { pid } }: { process: { pid?: number | undefined } }) =>
  process.kill(pid!, 'SIGTERM')

test('a process that stops fails its health checks first, and answers all other requests', async (t) => {
  const service = await kinora(t, { KINORA_ROLES: 'api', KINORA_STOP_DELAY_SECONDS: '600' })
  t.after(() => service.kill())
  for (const path of ['/readyz', '/readyz?exclude=database,files'])
    assert.equal((await call(`${service.url}${path}`)).body.status, 'ready')
  sendStop(service)
  await waitFor(async () => (await call(`${service.url}/readyz`)).status === 503)
  for (const path of ['/readyz', '/readyz?exclude=database,files']) {
    const { status, body } = await call(`${service.url}${path}`)
    assert.deepEqual([status, body], [503, { status: 'stopping' }])
  }
  assert.equal((await call(`${service.url}/healthz`)).status, 200)
  const json = { title: 'Late' }
  const created = await call(`${service.url}/videos`, { method: 'POST', json })
  assert.equal(created.status, 201)
  assert.notEqual(created.headers.get('connection'), 'close')
  await service.kill()
})

test('an upload in progress is finished as long as the setting allows', async (t) => {
  const service = await kinora(t, { KINORA_ROLES: 'api', KINORA_STOP_TIMEOUT_SECONDS: '3600' })
  t.after(() => service.kill())
  const content = Buffer.alloc(8 * MiB, 1)
  const upload = openUpload(sourceUrl(service, await createVideo(service)), content)
  await upload.write(2 * MiB)
  const ended = once(service.process, 'exit')
  sendStop(service)
  const isRefused = () =>
    call(`${service.url}/healthz`).then(
      () => false,
      () => true,
    )
  await waitFor(isRefused)
  const { status, headers } = await upload.end()
  assert.equal(status, 201)
  assert.equal(headers.get('connection'), 'close')
  await ended
  assert.equal(service.process.exitCode, 0)
})
