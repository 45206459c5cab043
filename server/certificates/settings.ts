import { existsSync } from 'node:fs'
import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import {
  allOrNone,
  type Env,
  InvalidValue,
  integer,
  optional,
  type ReadValues,
  setting,
  url,
} from '../lib/settings.ts'

const letsEncrypt = 'https://acme-v02.api.letsencrypt.org/directory'

/** Let's Encrypt puts at most this many into one certificate. */
const maxDomains = 100

function domains(value: string): string[] {
  const list = value.split(',').map((each) => readDomain(each.trim()))
  if (list.length > maxDomains) throw new InvalidValue(`must have at most ${maxDomains} domains`)
  return [...new Set(list)]
}

function readDomain(text: string): string {
  const not = (reason: string) =>
    new InvalidValue(`must be a domain such as video.example.com, not "${text}"${reason}`)
  if (/[/:@\s]/.test(text)) throw not(': no protocol, port or path')
  if (text.startsWith('*.')) throw not(': list the domains one by one, separated by commas')
  if (isIP(text)) throw not(': certificates are for domains, not for IP addresses')
  const name = domainToASCII(text).replace(/\.$/, '')
  if (name === 'localhost' || name.endsWith('.localhost'))
    throw not(': nobody certifies it, and it needs no certificate')
  if (name.includes('_')) throw not(': certificates cannot contain underscores')
  const labels = name.split('.')
  const isValid = labels.every((label) => /^(?!-)[a-z\d-]{1,63}(?<!-)$/.test(label)) && name.length <= 253
  if (!isValid || /^\d+$/.test(labels.at(-1)!)) throw not('')
  return name
}

function email(value: string): string {
  if (!/^[^\s,@]+@[^\s,@]+\.[^\s,@]+$/.test(value)) throw new InvalidValue('must be an e-mail address')
  return value
}

const acme = allOrNone(
  {
    domains: setting({
      name: 'KINORA_DOMAIN',
      default: '',
      meaning:
        'Domain of the service, such as video.example.com. Kinora then gets a certificate for it, renews it, and listens on the ports 443 and 80 of every interface. Several domains are separated by commas; URLs have the first one. See docs/operations.md.',
      read: optional(domains),
    }),
  },
  {
    email: setting({
      name: 'KINORA_ACME_EMAIL',
      default: '',
      meaning: 'E-mail address at which the certificate authority reaches you. Some need it.',
      read: optional(email),
    }),
    directoryUrl: setting({
      name: 'KINORA_ACME_URL',
      default: letsEncrypt,
      meaning: 'ACME directory of the certificate authority.',
      read: url('https:'),
    }),
    httpPort: setting({
      name: 'KINORA_HTTP_PORT',
      default: '80',
      meaning:
        'With KINORA_DOMAIN: port that redirects to HTTPS and answers the certificate authority, which always asks at port 80 of the domain. 0 picks a free port.',
      read: integer(0, 65535),
    }),
  },
)

/** A process that only works on jobs has no visitors. Its URLs have the domain as well. */
const hasVisitors = ({ KINORA_ROLES: roles }: Env) => roles === undefined || /api|live/.test(roles)

export const certificatesSettings = {
  /** Undefined: this process gets no certificate by itself. */
  acme: { ...acme, read: (env: Env) => (hasVisitors(env) ? acme.read(env) : void acme.read(env)) },
}

declare module '../config.ts' {
  interface Config extends ReadValues<typeof certificatesSettings> {}
}

/** The domains of KINORA_DOMAIN, for the defaults of other settings. None if the setting is invalid. */
function domainsOf({ KINORA_DOMAIN: value }: Env): string[] {
  try {
    return value ? domains(value) : []
  } catch {
    return []
  }
}

/** Whether this process gets its own certificate. */
const hasCertificate = (env: Env) => domainsOf(env).length > 0 && hasVisitors(env)

export const defaultPort = (env: Env) => (hasCertificate(env) ? '443' : undefined)

/** Every interface, also over IPv6 if the system has it. */
export function defaultHost(env: Env): string | undefined {
  if (!hasCertificate(env)) return undefined
  return existsSync('/proc/net/if_inet6') ? '::' : '0.0.0.0'
}

export function defaultPublicUrl(env: Env): string | undefined {
  const [domain] = domainsOf(env)
  return domain && `https://${domain}`
}

type Read = ReadValues<typeof certificatesSettings> & {
  tls: object | undefined
  publicUrl: string | undefined
}

/** One sentence for each contradiction between the domain and other settings. */
export function findContradictions({ acme: read, tls, publicUrl }: Read): string[] {
  if (!read) return []
  const problems: string[] = []
  if (tls) problems.push('KINORA_DOMAIN and KINORA_TLS_CERT cannot both be set: use one or the other.')
  const { protocol, hostname } = new URL(publicUrl ?? '')
  if (protocol !== 'https:' || !read.domains.includes(hostname))
    problems.push(
      `KINORA_PUBLIC_URL must be https://${read.domains[0]} or another domain of KINORA_DOMAIN, or not set.`,
    )
  return problems
}
