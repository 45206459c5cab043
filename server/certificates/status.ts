import type { Config } from '../config.ts'
import type { Context } from '../context.ts'
import { certificateKey } from './acme-certificate.ts'
import { readCertificate } from './details.ts'
import { readCertificateFiles } from './files.ts'
import { findCertificate } from './store.ts'

/** What operators see of the certificate. */
export type CertificateStatus = {
  /** `acme`: KINORA_DOMAIN. `file`: KINORA_TLS_CERT. `none`: plain HTTP, or a proxy handles HTTPS. */
  source: 'acme' | 'file' | 'none'
  domains: string[]
  /** Null if there is no certificate, or if it cannot be read. */
  issuer: string | null
  notBefore: Date | null
  notAfter: Date | null
  /** Null if someone else renews the certificate. */
  renewAt: Date | null
  lastError: string | null
  /** Null if nothing is due. */
  nextAttemptAt: Date | null
}

const none: CertificateStatus = {
  source: 'none',
  domains: [],
  issuer: null,
  notBefore: null,
  notAfter: null,
  renewAt: null,
  lastError: null,
  nextAttemptAt: null,
}

/** The certificate of the settings, as it is now. It needs no running service. */
export async function certificateStatus({
  config,
  db,
}: Pick<Context, 'config' | 'db'>): Promise<CertificateStatus> {
  if (config.acme) return acmeStatus(db, config.acme)
  if (!config.tls) return none
  try {
    const { cert } = await readCertificateFiles(config.tls)
    const { domains, issuer, notBefore, notAfter } = readCertificate(cert)
    return { ...none, source: 'file', domains, issuer, notBefore, notAfter }
  } catch (error) {
    return { ...none, source: 'file', lastError: (error as Error).message }
  }
}

async function acmeStatus(db: Context['db'], acme: NonNullable<Config['acme']>): Promise<CertificateStatus> {
  const row = await findCertificate(db, certificateKey(acme))
  const { issuer = null, notBefore = null, notAfter = null } = row?.chain ? readCertificate(row.chain) : {}
  const lastError = row?.last_error ?? null
  return {
    source: 'acme',
    domains: acme.domains,
    issuer,
    notBefore,
    notAfter,
    renewAt: row?.renew_at ?? null,
    lastError,
    // Otherwise it is a question when to renew.
    nextAttemptAt: row && (lastError || !row.chain) ? row.next_at : null,
  }
}
