import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { newSecret, signatureHeaders, standardSecret } from './sign.ts'

const body = Buffer.from('{"type":"video.encoding.quality.completed","quality":"720p ü"}')
const sign = (secret: string, previousSecret: string | null, at = new Date()) =>
  signatureHeaders({ webhookId: 'webhook_1', eventId: 'event_1', body, secret, previousSecret }, at)
const hex = (key: string) => createHmac('sha256', key).update(body).digest('hex')

test('the known header is the hexadecimal HMAC of the body, keyed with the entire secret', () => {
  const secret = newSecret()
  const headers = sign(secret, null)
  assert.equal(headers['x-api-video-webhookid'], 'webhook_1')
  assert.equal(headers['x-api-video-signature'], hex(secret))
  assert.equal('x-api-video-signature-previous' in headers, false)
})

test('the Standard Webhooks library verifies it, and rejects another body, id, time or secret', () => {
  const secret = newSecret()
  const headers = sign(secret, null)
  const webhook = new Webhook(standardSecret(secret))
  assert.deepEqual(webhook.verify(body, headers), JSON.parse(body.toString()))
  assert.throws(() => webhook.verify(`${body} `, headers))
  assert.throws(() => webhook.verify(body, { ...headers, 'webhook-id': 'event_2' }))
  assert.throws(() => webhook.verify(body, sign(secret, null, new Date(Date.now() - 3_600_000))))
  assert.throws(() => new Webhook(standardSecret(newSecret())).verify(body, headers))
})

test('after a rotation both secrets verify, the new one first', () => {
  const [secret, previous] = [newSecret(), newSecret()]
  const headers = sign(secret, previous)
  assert.equal(headers['x-api-video-signature'], hex(secret))
  assert.equal(headers['x-api-video-signature-previous'], hex(previous))
  assert.equal(headers['webhook-signature']?.split(' ').length, 2)
  for (const each of [secret, previous]) new Webhook(standardSecret(each)).verify(body, headers)
})

test('the function in the docs recognizes genuine deliveries', async () => {
  const page = await readFile(new URL('../../docs/webhooks.md', import.meta.url), 'utf8')
  const sample = /```js\n([^`]*export function isGenuine[^`]*)```/.exec(page)?.[1] ?? ''
  const { isGenuine } = await import(`data:text/javascript,${encodeURIComponent(sample)}`)
  const secret = newSecret()
  process.env.SIGNATURE_SECRET = secret
  assert.equal(isGenuine(body, sign(secret, null)), true)
  assert.equal(isGenuine(body, sign(newSecret(), null)), false)
  assert.equal(isGenuine(Buffer.from('{}'), sign(secret, null)), false)
  assert.equal(isGenuine(body, {}), false)
})
