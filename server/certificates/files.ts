import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import type { Config } from '../config.ts'
import type { Log } from '../lib/log.ts'
import { StartError } from '../lib/start-error.ts'
import { type CertificateAndKey, TlsCertificate } from '../lib/tls-certificate.ts'

type Files = NonNullable<Config['tls']>

const checkEveryMs = 10_000

/** Reads the files of KINORA_TLS_CERT and KINORA_TLS_KEY. Throws a StartError. */
export async function readCertificateFiles({ certFile, keyFile }: Files): Promise<CertificateAndKey> {
  const read = (file: string, setting: string) =>
    readFile(file).catch((error) => {
      throw new StartError(`The file in ${setting} cannot be read: ${error.message}.`)
    })
  const files = { cert: await read(certFile, 'KINORA_TLS_CERT'), key: await read(keyFile, 'KINORA_TLS_KEY') }
  try {
    createSecureContext(files)
  } catch (error) {
    const reason = (error as Error).message
    throw new StartError(
      `KINORA_TLS_CERT and KINORA_TLS_KEY are not a valid PEM certificate and its private key: ${reason}.`,
    )
  }
  return files
}

/**
 * Uses the files, and reads them again at intervals. Notifications of the file system would miss the changes of programs
 * that replace the target of a link, such as certbot.
 */
export async function openCertificateFiles(
  files: Files,
  log: Log,
  everyMs = checkEveryMs,
): Promise<{ certificate: TlsCertificate; close(): Promise<void> }> {
  const certificate = new TlsCertificate(await readCertificateFiles(files))
  let problem: string | undefined
  const check = async () => {
    try {
      const next = await readCertificateFiles(files)
      problem = undefined
      if (next.cert.equals(certificate.cert) && next.key.equals(certificate.key)) return
      certificate.replace(next)
      log.info({}, 'the certificate was replaced')
    } catch (error) {
      // Between the writing of one file and the other, they do not match. Each problem is logged once.
      const { message } = error as Error
      if (message !== problem) log.warn({}, `The certificate was not replaced: ${message}`)
      problem = message
    }
  }
  let checking = Promise.resolve()
  const timer = setInterval(() => {
    checking = checking.then(check)
  }, everyMs).unref()
  return {
    certificate,
    async close() {
      clearInterval(timer)
      await checking
    },
  }
}
