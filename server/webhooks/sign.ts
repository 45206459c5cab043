import { createHmac } from 'node:crypto'
import { randomWord } from '../lib/ids.ts'

export const newSecret = () => `sig_sec_${randomWord(22)}`

/** The same key, the way the libraries of Standard Webhooks take it. */
export const standardSecret = (secret: string) => `whsec_${Buffer.from(secret).toString('base64')}`

export type Signed = {
  webhookId: string
  eventId: string
  body: Buffer
  secret: string
  /** The one before, while it is valid. */
  previousSecret: string | null
}

/** Two ways to verify one body: what existing receivers know, and standardwebhooks.com, which covers the time too. */
export function signatureHeaders(signed: Signed, at: Date): Record<string, string> {
  const { webhookId, eventId, body, secret, previousSecret } = signed
  const timestamp = String(Math.floor(at.getTime() / 1_000))
  const hex = (key: string) => createHmac('sha256', key).update(body).digest('hex')
  const standard = (key: string) =>
    `v1,${createHmac('sha256', key).update(`${eventId}.${timestamp}.`).update(body).digest('base64')}`
  const secrets = previousSecret === null ? [secret] : [secret, previousSecret]
  return {
    'x-api-video-webhookid': webhookId,
    'x-api-video-signature': hex(secret),
    ...(previousSecret !== null && { 'x-api-video-signature-previous': hex(previousSecret) }),
    'webhook-id': eventId,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map(standard).join(' '),
  }
}
