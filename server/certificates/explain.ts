import { lookup } from 'node:dns/promises'
import { AcmeError } from './acme/errors.ts'

type Lookup = (domain: string) => Promise<{ address: string }[]>

const lookUpAll: Lookup = (domain) => lookup(domain, { all: true })

/** Problems of the way from the authority to this service. */
const networkKinds = new Set(['dns', 'connection', 'unauthorized', 'tls', 'incorrectResponse'])
/** Smaller differences do no harm. */
const maxClockOffsetMs = 5 * 60_000

type Situation = { domains: string[]; httpPort: number; clockOffsetMs: number }

/** Sentences about why there is no certificate, and what to change. */
export async function explainFailure(
  error: unknown,
  { domains, httpPort, clockOffsetMs }: Situation,
  lookUp = lookUpAll,
): Promise<string> {
  const sentences = [error instanceof AcmeError ? error.message : `${(error as Error).message}.`]
  if (error instanceof AcmeError && networkKinds.has(error.kind ?? '')) {
    for (const domain of domains) sentences.push(await describeDns(domain, lookUp))
    const forwarded = httpPort === 80 ? 'this server' : `port ${httpPort} of this server (KINORA_HTTP_PORT)`
    sentences.push(`The certificate authority has to reach ${forwarded} at port 80 of these addresses.`)
  }
  if (Math.abs(clockOffsetMs) > maxClockOffsetMs) {
    const minutes = Math.round(Math.abs(clockOffsetMs) / 60_000)
    sentences.push(
      `The clock of this machine is ${minutes} minutes ${clockOffsetMs > 0 ? 'behind' : 'ahead of'} that of the certificate authority.`,
    )
  }
  return sentences.join(' ')
}

async function describeDns(domain: string, lookUp: Lookup): Promise<string> {
  try {
    const addresses = (await lookUp(domain)).map(({ address }) => address)
    return `${domain} resolves to ${addresses.join(', ')}.`
  } catch {
    return `${domain} does not resolve to an IP address: create a DNS record (A or AAAA) for it.`
  }
}
