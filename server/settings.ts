import { isIP, isIPv4 } from 'node:net'
import { resolve } from 'node:path'
import { apiKey } from './accounts/settings.ts'
import { defaultHost, defaultPort, defaultPublicUrl } from './certificates/settings.ts'
import { defaultConnections, minConnections } from './lib/database/connections.ts'
import { parseDatabaseUrl } from './lib/database/url.ts'
import type { Reserve } from './lib/disk-space.ts'
import {
  allOrNone,
  choice,
  duration,
  group,
  InvalidValue,
  ifEnabled,
  integer,
  onOff,
  optional,
  type ReadValues,
  setting,
  text,
  trueFalse,
  url,
} from './lib/settings.ts'

// Settings of the process itself: network, roles, database, files; and of the command line. Each slice defines its own
// settings.

const allRoles = ['api', 'worker', 'live'] as const
type Role = (typeof allRoles)[number]

function roles(value: string): Set<Role> {
  return new Set(value.split(',').map((word) => choice(...allRoles)(word.trim())))
}

function origin(value: string): string {
  const parsed = new URL(url('http:', 'https:')(value))
  // Native players expect /vod/ as the first path segment, so the public URL cannot have a path.
  if (parsed.pathname !== '/' || parsed.search || parsed.hash || parsed.username) {
    throw new InvalidValue(`must be an origin such as https://video.example.com, not "${value}"`)
  }
  return parsed.origin
}

function proxies(value: string): string[] {
  const list = value
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean)
  for (const each of list) {
    const [ip = '', bits, ...rest] = each.split('/')
    const maxBits = isIPv4(ip) ? 32 : 128
    const isPrefix = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= maxBits)
    if (!isIP(ip) || !isPrefix || rest.length > 0)
      throw new InvalidValue(`must be IP addresses or networks such as 10.0.0.0/8, not "${each}"`)
  }
  return list
}

function hostNames(value: string): string[] {
  const list = value
    .split(',')
    .map((each) => each.trim().toLowerCase())
    .filter(Boolean)
  for (const each of list)
    if (!/^\w[\w.-]*$/.test(each))
      throw new InvalidValue(`must be host names without a port, separated by commas, not "${each}"`)
  return list
}

function bucket(value: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]$/.test(value)) {
    throw new InvalidValue('must be the name of a bucket: letters, digits, dots, hyphens')
  }
  return value
}

const units = { MB: 1e6, GB: 1e9, TB: 1e12 }

function reserve(value: string): Reserve {
  const [, number = '', unit] = /^(\d{1,9}(?:\.\d{1,3})?)(%|MB|GB|TB)?$/.exec(value) ?? []
  const size = Number(number)
  if (unit === '%' && size <= 100) return { fraction: size / 100 }
  if (unit !== undefined && unit !== '%') return { bytes: size * units[unit as keyof typeof units] }
  if (value !== '0')
    throw new InvalidValue(`must be a size such as 2GB, a percentage such as 5%, or 0, not "${value}"`)
  return { bytes: 0 }
}

/** It may have several hosts, which `URL` does not understand. */
function databaseUrl(value: string): string {
  const check = url('postgres:', 'postgresql:')
  try {
    for (const each of parseDatabaseUrl(value).hosts) check(each)
  } catch (error) {
    throw error instanceof RangeError ? new InvalidValue(`is wrong: ${error.message}`) : error
  }
  return value
}

const network = {
  host: setting({
    name: 'KINORA_HOST',
    default: '127.0.0.1',
    defaultIn: defaultHost,
    meaning:
      'IP address or host name to listen on. 0.0.0.0 listens on every interface, :: also over IPv6. With KINORA_DOMAIN, :: is the default.',
    read: text,
  }),
  port: setting({
    name: 'KINORA_PORT',
    default: '8080',
    defaultIn: defaultPort,
    meaning:
      'Port of the HTTP server, or of HTTPS. With KINORA_DOMAIN, 443 is the default. 0 picks a free port.',
    read: integer(0, 65535),
  }),
  publicUrl: setting({
    name: 'KINORA_PUBLIC_URL',
    default: '',
    defaultIn: defaultPublicUrl,
    meaning:
      'Origin that clients and viewers use, such as https://video.example.com. If not set: https with KINORA_DOMAIN, else http://localhost with the port.',
    read: optional(origin),
  }),
  allowedHosts: setting({
    name: 'KINORA_ALLOWED_HOSTS',
    default: '',
    meaning:
      'Other host names at which the dashboard and /metrics are available, separated by commas, such as kinora,video.internal. The host of the public URL, localhost and IP addresses always are.',
    read: hostNames,
  }),
  tls: allOrNone(
    {
      certFile: setting({
        name: 'KINORA_TLS_CERT',
        default: '',
        meaning: 'Certificate file (PEM). With KINORA_TLS_KEY, the server uses HTTPS instead of HTTP.',
        read: optional(resolvePath),
      }),
      keyFile: setting({
        name: 'KINORA_TLS_KEY',
        default: '',
        meaning: 'Private key file (PEM) of the certificate.',
        read: optional(resolvePath),
      }),
    },
    {},
  ),
  trustProxy: setting({
    name: 'KINORA_TRUST_PROXY',
    default: '',
    meaning:
      'Proxies whose X-Forwarded-For header is trusted: IP addresses or networks, separated by commas, such as 127.0.0.1,10.0.0.0/8. If not set: none.',
    read: proxies,
  }),
  allowPrivateNetworks: setting({
    name: 'KINORA_ALLOW_PRIVATE_NETWORKS',
    default: 'false',
    meaning: 'true allows video sources, webhooks and restreams with loopback and private IP addresses.',
    read: trueFalse,
  }),
}

const limits = {
  rateLimits: ifEnabled(
    setting({
      name: 'KINORA_RATE_LIMITS',
      default: 'on',
      meaning: 'on or off: limits on the requests of each API key and upload token.',
      read: onOff,
    }),
    {
      uploads: setting({
        name: 'KINORA_RATE_LIMIT_UPLOADS',
        default: '30000',
        meaning: 'Upload requests per minute for each API key or upload token. Every chunk is a request.',
        read: integer(1, 1e9),
      }),
      writes: setting({
        name: 'KINORA_RATE_LIMIT_WRITES',
        default: '30000',
        meaning: 'Write requests per minute for each API key.',
        read: integer(1, 1e9),
      }),
      reads: setting({
        name: 'KINORA_RATE_LIMIT_READS',
        default: '60000',
        meaning: 'Read requests per minute for each API key.',
        read: integer(1, 1e9),
      }),
    },
  ),
  bodyMs: setting({
    name: 'KINORA_BODY_SECONDS',
    default: '60',
    meaning: 'Seconds within which the body of a request must arrive. File uploads are exempt.',
    read: duration(1, 3_600, 1_000),
  }),
}

const stopping = {
  stopDelayMs: setting({
    name: 'KINORA_STOP_DELAY_SECONDS',
    default: '0',
    meaning:
      'Seconds in which a process that stops fails /readyz, but answers all requests, so that proxies notice. 0 without a proxy.',
    read: duration(0, 600, 1_000),
  }),
  stopTimeoutMs: setting({
    name: 'KINORA_STOP_TIMEOUT_SECONDS',
    default: '10',
    meaning: 'Seconds that a process that stops gives the requests in progress, such as uploads.',
    read: duration(0, 86_400, 1_000),
  }),
}

const storage = {
  dataDir: setting({
    name: 'KINORA_DATA_DIR',
    default: './data',
    meaning: 'Folder for the embedded Postgres and for files.',
    read: resolvePath,
  }),
  diskReserve: setting({
    name: 'KINORA_DISK_RESERVE',
    default: '',
    meaning:
      'Free space that the disk of the data folder keeps for the database, such as 2GB or 5%. Below it, uploads, recordings and encodings pause. If not set: 1GB, but at most 5% of the disk. 0 turns this off.',
    read: optional(reserve),
  }),
  databaseUrl: setting({
    name: 'KINORA_DATABASE_URL',
    default: '',
    meaning:
      'Your own Postgres (15 or newer), as postgres://user:password@host:port/database. With several hosts, as a:5432,b:5432, the one that accepts writes is used. If not set: an embedded Postgres in the data folder.',
    read: optional(databaseUrl),
  }),
  databaseDirectUrl: setting({
    name: 'KINORA_DATABASE_DIRECT_URL',
    default: '',
    meaning:
      'URL of the same Postgres without the connection pooler that KINORA_DATABASE_URL leads to, such as PgBouncer. Notifications, locks of sessions and upgrades need it. If not set: there is no pooler.',
    read: optional(databaseUrl),
  }),
  databaseConnections: setting({
    name: 'KINORA_DATABASE_CONNECTIONS',
    default: String(defaultConnections),
    meaning:
      'The most connections to Postgres that this process opens. All processes together must stay below max_connections.',
    read: integer(minConnections, 1_000),
  }),
  upgradeBackup: setting({
    name: 'KINORA_UPGRADE_BACKUP',
    default: 'on',
    meaning:
      'on or off: copy the embedded Postgres to the folder backups in the data folder before an upgrade changes it.',
    read: onOff,
  }),
  /** Undefined: files are stored in the data folder. */
  s3: allOrNone(
    {
      endpoint: setting({
        name: 'KINORA_S3_ENDPOINT',
        default: '',
        meaning:
          'URL of an S3-compatible store for files, such as https://s3.example.com. If not set: files are stored in the data folder.',
        read: optional(url('http:', 'https:')),
      }),
      bucket: setting({
        name: 'KINORA_S3_BUCKET',
        default: '',
        meaning: 'Name of the bucket. It must exist.',
        read: optional(bucket),
      }),
      accessKey: setting({
        name: 'KINORA_S3_ACCESS_KEY',
        default: '',
        meaning: 'Access key of the store.',
        read: optional(text),
      }),
      secretKey: setting({
        name: 'KINORA_S3_SECRET_KEY',
        default: '',
        meaning: 'Secret key of the store.',
        read: optional(text),
      }),
    },
    {
      region: setting({
        name: 'KINORA_S3_REGION',
        default: 'us-east-1',
        meaning: 'Region that requests to the store are signed for.',
        read: text,
      }),
      isRedirecting: setting({
        name: 'KINORA_S3_REDIRECT',
        default: 'off',
        meaning:
          'on or off: redirect viewers to presigned URLs of the store instead of sending media through the service.',
        read: onOff,
      }),
    },
    ({ isRedirecting }) =>
      isRedirecting ? 'KINORA_S3_REDIRECT needs a store: set KINORA_S3_ENDPOINT, or turn it off.' : undefined,
  ),
}

export const processSettings = {
  ...network,
  ...limits,
  ...stopping,
  ...storage,
  roles: setting({
    name: 'KINORA_ROLES',
    default: 'api,worker,live',
    meaning: 'Roles of this process: any of api, worker, live.',
    read: roles,
  }),
  logLevel: setting({
    name: 'KINORA_LOG_LEVEL',
    default: 'info',
    meaning: 'debug, info, warn, error or silent.',
    read: choice('debug', 'info', 'warn', 'error', 'silent'),
  }),
}

export const cliSettings = {
  cli: group({
    key: setting({
      name: 'KINORA_KEY',
      default: '',
      meaning:
        'kinora command only: the API key of commands that call the API. It decides the environment. If not set: that of `kinora login`, or of the service that runs on the data folder.',
      read: optional(apiKey),
    }),
    url: setting({
      name: 'KINORA_URL',
      default: '',
      meaning:
        'kinora command only: the URL of the service. If not set: that of `kinora login`, or the service that runs on the data folder.',
      read: optional((value) => url('http:', 'https:')(value).replace(/\/+$/, '')),
    }),
  }),
}

declare module './config.ts' {
  interface Config extends ReadValues<typeof processSettings & typeof cliSettings> {}
}

function resolvePath(path: string): string {
  return resolve(path)
}
