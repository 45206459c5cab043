import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { createSecureContext } from 'node:tls'
import { createCertificateRequest, createSelfSigned, newKey } from './x509.ts'

test('OpenSSL reads and verifies a certificate request with one domain or a hundred', () => {
  for (const count of [1, 5, 100]) {
    const domains = Array.from({ length: count }, (_, index) => `v${index}.example.com`)
    const input = createCertificateRequest(newKey(), domains)
    const args = ['req', '-inform', 'DER', '-verify', '-noout', '-text']
    const text = execFileSync('openssl', args, { input, encoding: 'utf8', stdio: 'pipe' })
    assert.match(text, /Signature Algorithm: ecdsa-with-SHA256/)
    assert.deepEqual(
      [...text.matchAll(/DNS:([\w.]+)/g)].map(([, name]) => name),
      domains,
    )
  }
})

test('a self-signed certificate is valid for its domains for a year', () => {
  const now = new Date('2026-11-18T17:00:00Z')
  const { cert, key } = createSelfSigned(['a.example', 'b.example'], now)
  createSecureContext({ cert, key })
  const certificate = new X509Certificate(cert)
  assert.equal(certificate.subjectAltName, 'DNS:a.example, DNS:b.example')
  assert.equal(certificate.verify(certificate.publicKey), true)
  assert.deepEqual(certificate.validFromDate, new Date('2026-11-17T17:00:00Z'))
  assert.deepEqual(certificate.validToDate, new Date('2027-11-18T17:00:00Z'))
})
