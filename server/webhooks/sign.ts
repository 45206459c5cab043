import { createHmac } from 'node:crypto'
import { randomWord } from '../lib/ids.ts'

export const newSecret = () => `sig_sec_${randomWord(22)}`

/** The same key in the format of Standard Webhooks libraries. */
export const standardSecret = (secret: string) => `whsec_${Buffer.from(secret).toString('base64')}`

export type SignatureInput = {
  webhookId: string
  eventId: string
  body: Buffer
  secret: string
  /** Null if it has expired. */
  previousSecret: string | null
}

/** Headers of two schemes: the one that existing receivers verify, and standardwebhooks.com, which also signs the time. */
export function signatureHeaders(input: SignatureInput, at: Date): Record<string, string> {
  const { webhookId, eventId, body, secret, previousSecret } = input
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
