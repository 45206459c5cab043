import { X509Certificate } from 'node:crypto'

export type CertificateDetails = {
  /** The host names that it is valid for. */
  domains: string[]
  issuer: string
  notBefore: Date
  notAfter: Date
}

/** What the first certificate of a PEM text says. Throws if it is not a certificate. */
export function readCertificate(pem: Buffer | string): CertificateDetails {
  const { subjectAltName = '', issuer, validFromDate, validToDate } = new X509Certificate(pem)
  return {
    domains: [...subjectAltName.matchAll(/DNS:([^\s,]+)/g)].map(([, name]) => name!),
    issuer: nameOf(issuer),
    notBefore: validFromDate,
    notAfter: validToDate,
  }
}

/** The organization, if there is one: "Let's Encrypt" tells more than "R11". */
function nameOf(issuer: string): string {
  const fields = new Map(issuer.split('\n').map((line) => line.split(/=(.*)/s, 2) as [string, string]))
  return fields.get('O') ?? fields.get('CN') ?? issuer
}
