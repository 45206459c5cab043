import { isIP, isIPv4 } from 'node:net'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'

/** Every setting is an environment variable. This table is the whole list; docs/settings.md is checked against it. */
type Setting<T> = { default: string; meaning: string; read: (text: string) => T }

/** Thrown by a setting's reader; the message completes "KINORA_X ". */
class Unfit extends Error {}

/** One sentence for each setting that is wrong. */
export class SettingsProblem extends Error {
  readonly problems: string[]
  constructor(problems: string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

const text = (value: string) => value
const optional = (value: string) => (value === '' ? undefined : value)

function whole(min: number, max: number) {
  return (value: string) => {
    const n = /^\d{1,10}$/.test(value) ? Number(value) : Number.NaN
    if (!(n >= min && n <= max))
      throw new Unfit(`must be a whole number from ${min} to ${max}, not "${value}"`)
    return n
  }
}

function choice<const T extends string>(...allowed: T[]) {
  return (value: string): T => {
    const found = allowed.find((word) => word === value)
    if (found === undefined) throw new Unfit(`must be one of ${allowed.join(', ')}, not "${value}"`)
    return found
  }
}

const onOff = (value: string) => choice('on', 'off')(value) === 'on'
const trueFalse = (value: string) => choice('true', 'false')(value) === 'true'

function address(protocols: string[]) {
  return (value: string) => {
    if (value === '') return undefined
    const url = URL.parse(value)
    if (!url || !protocols.includes(url.protocol)) {
      throw new Unfit(`must be an address that starts with ${protocols.map((p) => `${p}//`).join(' or ')}`)
    }
    return value
  }
}

function publicAddress(value: string) {
  const checked = address(['http:', 'https:'])(value)
  if (checked === undefined) return undefined
  const url = new URL(checked)
  // Native players look for /vod/ as the first path segment, so a path in front of it cannot work.
  if (url.pathname !== '/' || url.search || url.hash || url.username) {
    throw new Unfit(`must be a bare origin such as https://video.example.com, not "${value}"`)
  }
  return url.origin
}

export const allRoles = ['api', 'worker', 'live'] as const
export type Role = (typeof allRoles)[number]

function roles(value: string): Set<Role> {
  return new Set(value.split(',').map((word) => choice(...allRoles)(word.trim())))
}

function apiKey(value: string) {
  if (value === '') return undefined
  // HTTP Basic ends the user name at the first colon; headers carry visible ASCII only.
  if (!/^[\x21-\x39\x3b-\x7e]{1,200}$/.test(value)) {
    throw new Unfit('must be 1 to 200 visible ASCII characters without colon or space')
  }
  return value
}

function bucket(value: string) {
  if (value === '') return undefined
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]$/.test(value)) {
    throw new Unfit('must be the name of a bucket: letters, digits, dots, hyphens')
  }
  return value
}

function proxies(value: string): string[] {
  const list = value
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean)
  for (const each of list) {
    const [ip = '', bits, ...rest] = each.split('/')
    const most = isIPv4(ip) ? 32 : 128
    const isPrefix = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most)
    if (!isIP(ip) || !isPrefix || rest.length > 0)
      throw new Unfit(`must be IP addresses or networks such as 10.0.0.0/8, not "${each}"`)
  }
  return list
}

function headerName(value: string) {
  if (value === '') return undefined
  if (!/^[A-Za-z0-9-]{1,100}$/.test(value)) throw new Unfit('must be the name of a header')
  return value.toLowerCase()
}

function accelLocation(value: string) {
  if (value === '') return undefined
  if (!/^(?:\/[A-Za-z0-9_-]+)+\/?$/.test(value))
    throw new Unfit(`must be a location of nginx such as /kinora-files/, not "${value}"`)
  return value.endsWith('/') ? value : `${value}/`
}

const define = <T>(byDefault: string, meaning: string, read: (text: string) => T): Setting<T> => ({
  default: byDefault,
  meaning,
  read,
})

export const settings = {
  KINORA_HOST: define('127.0.0.1', 'Address to listen on; 0.0.0.0 for every interface.', text),
  KINORA_PORT: define('8080', 'Port of the HTTP server; 0 picks a free one.', whole(0, 65535)),
  KINORA_PUBLIC_URL: define(
    '',
    'Origin that clients and viewers use, such as https://video.example.com. Not set: http://localhost and the port.',
    publicAddress,
  ),
  KINORA_DATA_DIR: define('./data', 'Folder for the embedded Postgres and for files.', (value) =>
    resolve(value),
  ),
  KINORA_DATABASE_URL: define(
    '',
    'Your own Postgres (15 or newer), as postgres://user:password@host:port/database. Not set: an embedded Postgres in the data folder.',
    address(['postgres:', 'postgresql:']),
  ),
  KINORA_ROLES: define('api,worker,live', 'What this process does: any of api, worker, live.', roles),
  KINORA_PRODUCTION_KEY: define('', 'An API key that exists in production from the start.', apiKey),
  KINORA_SANDBOX_KEY: define('', 'An API key that exists in the sandbox from the start.', apiKey),
  KINORA_KEY: define(
    '',
    'For the kinora command: the API key that kinora upload and kinora videos use.',
    apiKey,
  ),
  KINORA_URL: define(
    'http://localhost:8080',
    'For the kinora command: the address that kinora upload and kinora videos talk to. The key decides the environment.',
    (value) => address(['http:', 'https:'])(value)?.replace(/\/+$/, '') ?? '',
  ),
  KINORA_RATE_LIMITS: define('on', 'on or off: limits on requests per API key and upload token.', onOff),
  KINORA_RATE_LIMIT_UPLOADS: define(
    '30000',
    'Uploads (chunks count singly) per minute and key or upload token.',
    whole(1, 1e9),
  ),
  KINORA_RATE_LIMIT_WRITES: define('30000', 'Writes per minute and key.', whole(1, 1e9)),
  KINORA_RATE_LIMIT_READS: define('60000', 'Reads per minute and key.', whole(1, 1e9)),
  KINORA_BODY_SECONDS: define(
    '60',
    'Seconds within which the body of a request must arrive, unless it is a file.',
    whole(1, 3_600),
  ),
  KINORA_TLS_CERT: define(
    '',
    'Certificate file (PEM). With KINORA_TLS_KEY: HTTPS instead of HTTP.',
    optional,
  ),
  KINORA_TLS_KEY: define('', 'Private key file (PEM) of the certificate.', optional),
  KINORA_S3_ENDPOINT: define(
    '',
    'An S3-compatible store for files, such as https://s3.example.com. Not set: files are kept in the data folder.',
    address(['http:', 'https:']),
  ),
  KINORA_S3_BUCKET: define('', 'The bucket, which must exist.', bucket),
  KINORA_S3_REGION: define('us-east-1', 'The region that requests are signed for.', text),
  KINORA_S3_ACCESS_KEY: define('', 'Access key of the store.', optional),
  KINORA_S3_SECRET_KEY: define('', 'Secret key of the store.', optional),
  KINORA_LOG_LEVEL: define(
    'info',
    'debug, info, warn, error or silent.',
    choice('debug', 'info', 'warn', 'error', 'silent'),
  ),
  KINORA_FFMPEG: define('ffmpeg', 'The ffmpeg program.', text),
  KINORA_FFPROBE: define('ffprobe', 'The ffprobe program.', text),
  KINORA_ENCODE_SLOTS: define(
    String(availableParallelism()),
    'Encodes at once. Default: the number of cores.',
    whole(1, 1024),
  ),
  KINORA_ENCODE_STALL_SECONDS: define(
    '60',
    'An ffmpeg that does nothing for so long, neither using CPU time nor making progress, is ended, and its part of the video tried again.',
    whole(1, 3_600),
  ),
  KINORA_SANDBOX_SECONDS: define(
    '30',
    'Videos of the sandbox are cut after so many seconds; 0: they are not.',
    whole(0, 1e9),
  ),
  KINORA_SANDBOX_WATERMARK: define('on', 'on or off: a mark on videos of the sandbox.', onOff),
  KINORA_SANDBOX_HOURS: define(
    '24',
    'Videos of the sandbox are deleted after so many hours; 0: they are not.',
    whole(0, 1e6),
  ),
  KINORA_RTMP_PORT: define('1935', 'Port of the RTMP server. No effect in this version.', whole(0, 65535)),
  KINORA_ADMIN_PASSWORD: define('', 'Password of the dashboard. No effect in this version.', optional),
  KINORA_TRUST_PROXY: define(
    '',
    'Proxies whose X-Forwarded-For is believed: their addresses or networks, separated by commas, such as 127.0.0.1,10.0.0.0/8. Not set: none.',
    proxies,
  ),
  KINORA_COUNTRY_HEADER: define(
    '',
    'Request header in which a proxy or CDN gives the country of a viewer, such as CF-IPCountry. Not set: countries are not known.',
    headerName,
  ),
  KINORA_PRIVATE_SESSION_SECONDS: define(
    '86400',
    'How long an address of a private video, and the viewing session that it opens, can be used to start playing.',
    whole(1, 31_536_000),
  ),
  KINORA_ACCEL_REDIRECT: define(
    '',
    'For nginx in front: the internal location whose alias is the folder files in the data folder, such as /kinora-files/. Media on disk are then sent by nginx itself (X-Accel-Redirect).',
    accelLocation,
  ),
  KINORA_S3_REDIRECT: define(
    'off',
    'on or off: viewers are sent to presigned addresses of the store instead of getting media through the service.',
    onOff,
  ),
  KINORA_ANALYTICS_DAYS: define(
    '30',
    'Viewing sessions are kept for so many days; 0: for ever. Those of the sandbox for KINORA_SANDBOX_HOURS.',
    whole(0, 36_500),
  ),
  KINORA_SWEEP: define(
    'remove',
    'remove, report or off: what happens to files that no video refers to. See docs/operations.md.',
    choice('remove', 'report', 'off'),
  ),
  KINORA_SWEEP_GRACE_MINUTES: define(
    '60',
    'The sweep leaves files alone that were written within so many minutes.',
    whole(0, 525_600),
  ),
  KINORA_WEBHOOK_LIMIT: define('100', 'Webhooks that an environment can have.', whole(1, 10_000)),
  KINORA_ALLOW_PRIVATE_NETWORKS: define(
    'false',
    'true lets the service fetch from, and deliver to, loopback and private addresses.',
    trueFalse,
  ),
} satisfies Record<string, Setting<unknown>>

type SettingName = keyof typeof settings
type Values = { [K in SettingName]: ReturnType<(typeof settings)[K]['read']> }

export type Config = {
  host: string
  port: number
  publicUrl: string | undefined
  dataDir: string
  databaseUrl: string | undefined
  roles: Set<Role>
  keys: { production: string | undefined; sandbox: string | undefined }
  allowPrivateNetworks: boolean
  webhookLimit: number
  sweep: { mode: Values['KINORA_SWEEP']; graceMs: number }
  /** Addresses and networks of proxies that are believed. */
  trustProxy: string[]
  /** In small letters. */
  countryHeader: string | undefined
  privateSessionSeconds: number
  /** With a slash at its end. */
  accelRedirect: string | undefined
  /** 0: for ever. */
  analyticsDays: number
  /** What the command line uses as a client. */
  cli: { url: string; key: string | undefined }
  rateLimits: { uploads: number; writes: number; reads: number } | undefined
  bodyMs: number
  tls: { certFile: string; keyFile: string } | undefined
  logLevel: Values['KINORA_LOG_LEVEL']
  ffmpeg: string
  ffprobe: string
  encodeSlots: number
  encodeStallMs: number
  /** 0: without end. */
  sandbox: { seconds: number; hasWatermark: boolean; hours: number }
  /** Where files are kept; undefined: in the data folder. */
  s3:
    | {
        endpoint: string
        bucket: string
        region: string
        accessKey: string
        secretKey: string
        /** Viewers are sent to the store. */
        isRedirecting: boolean
      }
    | undefined
}

export function readConfig(env: Record<string, string | undefined>): Config {
  const problems: string[] = []
  for (const name of Object.keys(env)) {
    if (!name.startsWith('KINORA_') || name in settings) continue
    problems.push(
      `${name} is not a setting of Kinora: correct or unset it (docs/settings.md lists them all).`,
    )
  }

  const values: Record<string, unknown> = {}
  for (const [name, setting] of Object.entries(settings)) {
    try {
      values[name] = setting.read(env[name] ?? setting.default)
    } catch (error) {
      if (!(error instanceof Unfit)) throw error
      problems.push(`${name} ${error.message}.`)
    }
  }
  const v = values as Values

  if (!v.KINORA_TLS_CERT !== !v.KINORA_TLS_KEY) {
    problems.push('KINORA_TLS_CERT and KINORA_TLS_KEY go together: set both or none.')
  }
  if (v.KINORA_PRODUCTION_KEY && v.KINORA_PRODUCTION_KEY === v.KINORA_SANDBOX_KEY) {
    problems.push(
      'KINORA_PRODUCTION_KEY and KINORA_SANDBOX_KEY must differ: a key belongs to one environment.',
    )
  }
  const s3 = readS3(v, problems)
  if (problems.length > 0) throw new SettingsProblem(problems)

  return {
    host: v.KINORA_HOST,
    port: v.KINORA_PORT,
    publicUrl: v.KINORA_PUBLIC_URL,
    dataDir: v.KINORA_DATA_DIR,
    databaseUrl: v.KINORA_DATABASE_URL,
    roles: v.KINORA_ROLES,
    keys: { production: v.KINORA_PRODUCTION_KEY, sandbox: v.KINORA_SANDBOX_KEY },
    allowPrivateNetworks: v.KINORA_ALLOW_PRIVATE_NETWORKS,
    webhookLimit: v.KINORA_WEBHOOK_LIMIT,
    sweep: { mode: v.KINORA_SWEEP, graceMs: v.KINORA_SWEEP_GRACE_MINUTES * 60_000 },
    trustProxy: v.KINORA_TRUST_PROXY,
    countryHeader: v.KINORA_COUNTRY_HEADER,
    privateSessionSeconds: v.KINORA_PRIVATE_SESSION_SECONDS,
    accelRedirect: v.KINORA_ACCEL_REDIRECT,
    analyticsDays: v.KINORA_ANALYTICS_DAYS,
    cli: { url: v.KINORA_URL, key: v.KINORA_KEY },
    rateLimits: v.KINORA_RATE_LIMITS
      ? {
          uploads: v.KINORA_RATE_LIMIT_UPLOADS,
          writes: v.KINORA_RATE_LIMIT_WRITES,
          reads: v.KINORA_RATE_LIMIT_READS,
        }
      : undefined,
    bodyMs: v.KINORA_BODY_SECONDS * 1_000,
    tls:
      v.KINORA_TLS_CERT && v.KINORA_TLS_KEY
        ? { certFile: resolve(v.KINORA_TLS_CERT), keyFile: resolve(v.KINORA_TLS_KEY) }
        : undefined,
    logLevel: v.KINORA_LOG_LEVEL,
    ffmpeg: v.KINORA_FFMPEG,
    ffprobe: v.KINORA_FFPROBE,
    encodeSlots: v.KINORA_ENCODE_SLOTS,
    encodeStallMs: v.KINORA_ENCODE_STALL_SECONDS * 1_000,
    sandbox: {
      seconds: v.KINORA_SANDBOX_SECONDS,
      hasWatermark: v.KINORA_SANDBOX_WATERMARK,
      hours: v.KINORA_SANDBOX_HOURS,
    },
    s3,
  }
}

function readS3(v: Values, problems: string[]): Config['s3'] {
  const names = [
    'KINORA_S3_ENDPOINT',
    'KINORA_S3_BUCKET',
    'KINORA_S3_ACCESS_KEY',
    'KINORA_S3_SECRET_KEY',
  ] as const
  const [endpoint, bucket, accessKey, secretKey] = names.map((name) => v[name])
  if (endpoint && bucket && accessKey && secretKey) {
    return {
      ...{ endpoint, bucket, region: v.KINORA_S3_REGION, accessKey, secretKey },
      isRedirecting: v.KINORA_S3_REDIRECT,
    }
  }
  // One that is unfit has had its sentence.
  const isUnfit = (name: string) => problems.some((problem) => problem.startsWith(`${name} must`))
  const missing = names.filter((name) => !v[name] && !isUnfit(name))
  const [set] = names.filter((name) => v[name])
  if (set && missing.length > 0) problems.push(`${set} needs ${missing.join(', ')} too: set all or none.`)
  return undefined
}
