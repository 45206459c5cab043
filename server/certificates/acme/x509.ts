import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import type { CertificateAndKey } from '../../lib/tls-certificate.ts'
import {
  bitString,
  dnsName,
  integer,
  objectId,
  octetString,
  sequence,
  set,
  tagged,
  utcTime,
  utf8String,
} from './der.ts'

// Node reads certificates but does not write them.

const ecdsaWithSha256 = sequence(objectId('1.2.840.10045.4.3.2'))
const commonName = objectId('2.5.4.3')
const subjectAltName = objectId('2.5.29.17')
const extensionRequest = objectId('1.2.840.113549.1.9.14')

const dayMs = 86_400_000

/** Every client supports it, and a handshake takes a fraction of the time of RSA. */
export const newKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey

export const toPem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }) as string

const publicKeyOf = (key: KeyObject) => createPublicKey(key).export({ type: 'spki', format: 'der' })

const signed = (key: KeyObject, content: Buffer) =>
  sequence(content, ecdsaWithSha256, bitString(sign('sha256', content, key)))

const namesExtension = (domains: string[]) =>
  sequence(sequence(subjectAltName, octetString(sequence(...domains.map(dnsName)))))

/** A certificate request (PKCS #10) in DER. It has no subject: the CA ignores it, and long names do not fit into it. */
export function createCertificateRequest(key: KeyObject, domains: string[]): Buffer {
  const attributes = tagged(0, sequence(extensionRequest, set(namesExtension(domains))))
  return signed(key, sequence(integer(Buffer.from([0])), sequence(), publicKeyOf(key), attributes))
}

/** For the time until the CA has issued a certificate. Clients do not trust it. */
export function createSelfSigned(domains: string[], now: Date): CertificateAndKey {
  const key = newKey()
  const name = sequence(set(sequence(commonName, utf8String('Kinora, not yet certified'))))
  const validity = [now.getTime() - dayMs, now.getTime() + 365 * dayMs].map((ms) => utcTime(new Date(ms)))
  // A first byte between 1 and 127 makes it positive and gives it no superfluous zero.
  const serial = Buffer.concat([Buffer.from([1]), randomBytes(15)])
  const content = sequence(
    tagged(0, integer(Buffer.from([2]))),
    integer(serial),
    ecdsaWithSha256,
    name,
    sequence(...validity),
    name,
    publicKeyOf(key),
    tagged(3, namesExtension(domains)),
  )
  const lines = signed(key, content)
    .toString('base64')
    .match(/.{1,64}/g)!
  const pem = ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
  return { cert: Buffer.from(pem), key: Buffer.from(toPem(key)) }
}
