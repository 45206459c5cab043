import { createPrivateKey, type KeyObject } from 'node:crypto'
import { invalidAttribute } from '../../lib/errors.ts'

export type SigningKey = { id: string; key: string }

/** Mux shows its private keys as a PEM in Base64. */
function readKey(text: string): KeyObject {
  return createPrivateKey(text.startsWith('-----') ? text : Buffer.from(text, 'base64'))
}

export function checkSigningKey(text: string): void {
  const hint = '"signingKey" must be an RSA private key, as Mux shows it.'
  try {
    if (readKey(text).asymmetricKeyType === 'rsa') return
  } catch {}
  throw invalidAttribute('signingKey', hint)
}

/** The token for the files of a signed playback id. */
export async function signPlaybackId({ id, key }: SigningKey, playbackId: string): Promise<string> {
  // Loaded at first use, because it takes time at the start.
  const { SignJWT } = await import('jose/jwt/sign')
  return new SignJWT()
    .setProtectedHeader({ alg: 'RS256', kid: id })
    .setSubject(playbackId)
    .setAudience('v')
    .setExpirationTime('1h')
    .sign(readKey(key))
}
