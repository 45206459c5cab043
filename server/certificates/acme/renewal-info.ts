import { X509Certificate } from 'node:crypto'
import type { AcmeClient } from './client.ts'
import { AcmeError } from './errors.ts'

const hourMs = 3_600_000
const minCheckMs = hourMs
const maxCheckMs = 24 * hourMs
const usualCheckMs = 6 * hourMs

export type Validity = { notBefore: Date; notAfter: Date }

/**
 * At two thirds of the lifetime, if the authority does not tell. If the clock of this machine is wrong, the new
 * certificate can be past that time already, and it must not be ordered again and again.
 */
export function planRenewal({ notBefore, notAfter }: Validity, now: Date): Date {
  const lifetimeMs = notAfter.getTime() - notBefore.getTime()
  return new Date(Math.max(notBefore.getTime() + (2 / 3) * lifetimeMs, now.getTime() + lifetimeMs / 3))
}

/** The earliest time of another order, whatever the authority and the clocks say. */
export function earliestRenewal({ notBefore, notAfter }: Validity, issuedAt: Date): Date {
  const lifetimeMs = notAfter.getTime() - notBefore.getTime()
  return new Date(issuedAt.getTime() + Math.min(24 * hourMs, lifetimeMs / 3))
}

/**
 * When the authority wants the certificate to be renewed (RFC 9773). It may ask for an early renewal because it has to
 * revoke certificates. Undefined if it has no renewal information.
 */
export async function findRenewalWindow(
  client: AcmeClient,
  chain: string,
): Promise<{ start: Date; end: Date; checkAfterMs: number } | undefined> {
  const { renewalInfo } = await client.directory()
  const id = certificateId(chain)
  if (!renewalInfo || !id) return undefined
  const url = `${renewalInfo.replace(/\/$/, '')}/${id}`
  const { body, retryAfterMs = usualCheckMs } = await client.get<{
    suggestedWindow?: Record<string, string>
  }>(url)
  const [start, end] = [body.suggestedWindow?.start, body.suggestedWindow?.end].map(
    (text) => new Date(text ?? ''),
  ) as [Date, Date]
  if (!(start <= end)) throw new AcmeError(`${url} has sent no renewal window.`)
  return { start, end, checkAfterMs: Math.min(Math.max(retryAfterMs, minCheckMs), maxCheckMs) }
}

/** A time that was chosen before is kept while it is in the window. Otherwise it would move with each check. */
export function chooseRenewal(
  planned: Date,
  { start, end }: { start: Date; end: Date },
  random = Math.random(),
): Date {
  if (start <= planned && planned <= end) return planned
  return new Date(start.getTime() + random * (end.getTime() - start.getTime()))
}

/** The object identifier of the authority key identifier, 2.5.29.35, as it is in a certificate. */
const authorityKeyIdentifier = Buffer.from('0603551d23', 'hex')

/** Names a certificate in requests: the key of its issuer and its serial number. Undefined if it has no such key. */
export function certificateId(chain: string): string | undefined {
  const { raw, serialNumber } = new X509Certificate(chain)
  const at = raw.indexOf(authorityKeyIdentifier)
  if (at < 0) return undefined
  // OCTET STRING, SEQUENCE and [0], each with a length of one byte: identifiers have 20 bytes.
  const [octets, , list, , tag, length = 0] = raw.subarray(at + authorityKeyIdentifier.length)
  if (octets !== 0x04 || list !== 0x30 || tag !== 0x80) return undefined
  const begin = at + authorityKeyIdentifier.length + 6
  const key = raw.subarray(begin, begin + length)
  const digits = serialNumber.length % 2 === 1 ? `0${serialNumber}` : serialNumber
  // A first byte of 128 or more needs a zero before it to be positive.
  const serial = Buffer.from(Number.parseInt(digits.slice(0, 2), 16) >= 0x80 ? `00${digits}` : digits, 'hex')
  return `${key.toString('base64url')}.${serial.toString('base64url')}`
}
