import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { Credentials } from './services/service.ts'

// AES-256-GCM: 12 bytes of nonce, 16 bytes of tag, and the encrypted JSON. The id of the run is authenticated, so that the
// secrets of one run cannot be used by another one.

const keyOf = (secret: Buffer) => Buffer.from(hkdfSync('sha256', secret, '', 'import credentials', 32))

export function encryptCredentials(secret: Buffer, runId: string, credentials: Credentials): Buffer {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', keyOf(secret), nonce).setAAD(Buffer.from(runId))
  const encrypted = Buffer.concat([cipher.update(JSON.stringify(credentials)), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), encrypted])
}

export function decryptCredentials(secret: Buffer, runId: string, stored: Buffer): Credentials {
  const decipher = createDecipheriv('aes-256-gcm', keyOf(secret), stored.subarray(0, 12))
    .setAAD(Buffer.from(runId))
    .setAuthTag(stored.subarray(12, 28))
  const text = Buffer.concat([decipher.update(stored.subarray(28)), decipher.final()])
  return JSON.parse(text.toString())
}
