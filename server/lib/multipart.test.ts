import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { ApiError } from './errors.ts'
import { readMultipart } from './multipart.ts'

test('a client that disconnected before its body is read is noticed at once', async (t) => {
  const server = createServer()
  t.after(() => server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const sent = send({
    port: (server.address() as AddressInfo).port,
    method: 'POST',
    headers: { 'content-type': 'multipart/form-data; boundary=x', 'content-length': 1_000 },
  })
  sent.on('error', () => {})
  sent.write('--x\r\n')
  const [request] = await once(server, 'request')
  request.on('error', () => {})
  const closed = new Promise((done) => request.once('close', done))
  sent.destroy()
  await closed
  const reading = readMultipart(request, async () => assert.fail('there is no file'))
  await assert.rejects(
    reading,
    (error) => error instanceof ApiError && error.slug === 'uploaded-file-invalid-file',
  )
})
