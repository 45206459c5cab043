import { parts, serviceNames } from '../imports/kinds.ts'
import { call, sendJson } from './client.ts'
import { command, type Options } from './command.ts'
import { CommandError, UsageError } from './errors.ts'
import { importFolder } from './import-folder.ts'
import { followImport } from './import-follow.ts'
import { readUrlList } from './import-list.ts'
import { downloadReport, showStatus } from './import-report.ts'
import { formatImport, type Import } from './import-status.ts'
import { readSecret } from './read-secret.ts'

const choices = {
  url: {
    type: 'string',
    value: 'URL',
    meaning: 'The base URL of the service; of s3, the endpoint of the store',
  },
  region: { type: 'string', value: 'REGION', meaning: 'Of s3: the region; by default us-east-1' },
  'dry-run': { type: 'boolean', meaning: 'Only show what would be imported' },
  since: {
    type: 'string',
    value: 'TIME',
    meaning: 'Only videos created after this time, such as 2026-01-31',
  },
  tags: { type: 'string', value: 'TAG[,TAG…]', meaning: 'Only videos with all of these tags' },
  limit: { type: 'string', value: 'NUMBER', meaning: 'At most this many videos' },
  'keep-ids': {
    type: 'string',
    value: 'on|off',
    values: ['on', 'off'],
    meaning: 'Whether objects keep their ids; by default on for api.video, kinora and what was exported',
  },
  include: {
    type: 'string',
    value: 'PART[,PART…]',
    meaning: `What to carry over besides the videos: ${parts.join(', ')}; by default all but webhooks`,
  },
  concurrency: {
    type: 'string',
    value: 'NUMBER',
    meaning: 'How many files are fetched at the same time; by default 3',
  },
  bandwidth: {
    type: 'string',
    value: 'BYTES',
    meaning: 'Bytes per second, all files together, such as 500k or 10M; by default there is no limit',
  },
  detach: { type: 'boolean', meaning: 'Start the import and do not follow it' },
} as const satisfies Options

type Choices = Record<string, string | boolean | undefined>

export const importCommands = [
  command({
    name: 'import status',
    summary: 'Show an import, or the newest ones',
    operands: ['[IMPORT]'],
    options: {
      csv: { type: 'boolean', meaning: 'Print all objects as CSV' },
      failed: { type: 'boolean', meaning: 'List what has failed, and why' },
    },
    callsApi: true,
    examples: [
      'kinora import status',
      'kinora import status import_4blUQJFrYWbaG44NChkH27 --csv > report.csv',
    ],
    json: 'the import object of the API, or an array of the newest ones; with --failed an array of its objects',
    async run({ operands: [id], options, output, connect }) {
      const server = await connect()
      if (options.csv) return downloadReport(server, requireId(id, '--csv'), process.stdout)
      await showStatus(server, output, id, options.failed)
    },
  }),
  ...(['pause', 'resume', 'cancel'] as const).map((action) =>
    command({
      name: `import ${action}`,
      summary: {
        pause: 'Pause an import',
        resume: 'Resume a paused import, or import what a dry run has listed',
        cancel: 'Cancel an import; what was imported stays',
      }[action],
      operands: ['IMPORT'],
      options: {},
      callsApi: true,
      examples: [`kinora import ${action} import_4blUQJFrYWbaG44NChkH27`],
      json: 'the import object of the API',
      async run({ operands: [id], output, connect }) {
        const path = `/imports/${encodeURIComponent(id)}/${action}`
        const shown = await call<Import>(await connect(), 'POST', path)
        output.print(formatImport(shown), shown)
      },
    }),
  ),
  command({
    name: 'import',
    summary: 'Import videos from another service, a bucket, a list of URLs or a folder',
    operands: ['SERVICE', '[FROM]'],
    options: choices,
    details: [
      `SERVICE is ${serviceNames.join(', ')}, or the URL of a bucket such as s3://films/2026. FROM is the folder, the list of urls (a CSV or JSON file), or the account id of cloudflare.`,
      'The key of the service is asked for, or read from stdin, so that no list of processes shows it; buckets and mux have two, with a space between. Those of a bucket can also be in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. The import runs on the server, and continues when the command is interrupted. Files of a folder are sent by the command: run it again to continue.',
      'A second import brings only what is new, has changed or has failed. The exit code is 1 if something has failed.',
    ],
    callsApi: true,
    examples: [
      'kinora import kinora --url https://video.example.com < key.txt',
      'kinora import api.video --dry-run < key.txt',
      'kinora import s3://films/2026 --url https://s3.example.com < keys.txt',
      'kinora import urls list.csv',
      'kinora import folder films',
    ],
    json: 'the import object of the API, when it has ended',
    async run({ operands: [service, from], options, output, connect }) {
      const isBucket = service.startsWith('s3://')
      const name = isBucket ? 's3' : service
      if (!(serviceNames as readonly string[]).includes(name))
        throw new UsageError(`SERVICE must be ${serviceNames.join(', ')} or s3://bucket, not "${service}".`)
      checkFrom(name, isBucket, from)
      const request: Record<string, unknown> = { service: name, ...readChoices(options) }
      const server = await connect()
      if (name === 'folder') {
        if (options.since ?? options.tags ?? options.bandwidth)
          throw new UsageError('--since, --tags and --bandwidth are not for folders.')
        return importFolder(server, from!, request, output)
      }
      if (name === 'urls') Object.assign(request, { list: await readUrlList(from!) })
      else {
        const location = isBucket ? service : from
        Object.assign(request, location !== undefined && { location }, await readKeys(name))
      }
      const started = await sendJson<Import>(server, 'POST', '/imports', request)
      if (options.detach) return output.print(formatImport(started), started)
      await followImport(server, started, output)
    },
  }),
]

/** What FROM is, for the services that need it. */
const fromOf: Record<string, string> = {
  folder: 'the folder',
  urls: 'the CSV or JSON file',
  cloudflare: 'the account id',
}

function checkFrom(service: string, isBucket: boolean, from: string | undefined): void {
  const meaning = fromOf[service]
  if (meaning && from === undefined)
    throw new UsageError(`FROM is missing, ${meaning}: import ${service} FROM`)
  if (!meaning && from !== undefined) throw new UsageError(`"${from}" is an unexpected argument.`)
  if (service === 's3' && !isBucket) throw new UsageError('Name the bucket: import s3://bucket/folder')
}

function readChoices(options: Choices): object {
  const { url, region, since, tags, limit, include, concurrency, bandwidth } = options
  const list = (text: string) => text.split(',').map((each) => each.trim())
  return {
    ...(typeof url === 'string' && { url }),
    ...(typeof region === 'string' && { region }),
    ...(typeof since === 'string' && { since }),
    ...(typeof tags === 'string' && { tags: list(tags) }),
    ...(typeof limit === 'string' && { limit: readNumber('limit', limit) }),
    ...(typeof include === 'string' && { include: include === '' ? [] : list(include) }),
    ...(typeof concurrency === 'string' && { concurrency: readNumber('concurrency', concurrency) }),
    ...(typeof bandwidth === 'string' && { bandwidth: readBytes(bandwidth) }),
    ...(options['keep-ids'] !== undefined && { keepIds: options['keep-ids'] === 'on' }),
    ...(options['dry-run'] === true && { dryRun: true }),
  }
}

function readNumber(name: string, text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new UsageError(`--${name} must be a number from 1 on, not "${text}".`)
}

function readBytes(text: string): number {
  const [, digits, unit = ''] = /^(\d{1,9})([kMG]?)$/.exec(text) ?? []
  if (digits === undefined)
    throw new UsageError(`--bandwidth must be a number such as 500k or 10M, not "${text}".`)
  return Number(digits) * { '': 1, k: 1e3, M: 1e6, G: 1e9 }[unit as 'k']
}

/** Services with two keys, and the names of both. */
const pairs: Record<string, string> = {
  s3: 'Access key and secret key of the bucket',
  mux: 'Token id and secret of Mux, and for signed videos also the id of a signing key and the key',
}

type Keys = { key: string; secret?: string; signingKeyId?: string; signingKey?: string }

async function readKeys(service: string): Promise<Keys> {
  const pair = pairs[service]
  if (!pair) return { key: requireKey(await readSecret(`API key of ${service}: `)) }
  const { AWS_ACCESS_KEY_ID: accessKey, AWS_SECRET_ACCESS_KEY: secretKey } = process.env
  if (service === 's3' && accessKey && secretKey) return { key: accessKey, secret: secretKey }
  const words = (await readSecret(`${pair}, with a space between: `)).split(/\s+/)
  const [key = '', secret = '', signingKeyId, signingKey] = words
  const isSigned = service === 'mux' && signingKeyId !== undefined
  if (isSigned && signingKey === undefined)
    throw new CommandError('The signing key is missing after its id: both are on the line of the token.')
  return {
    key: requireKey(key),
    secret: requireKey(secret),
    ...(isSigned && { signingKeyId, signingKey: signingKey! }),
  }
}

function requireKey(key: string): string {
  if (key === '') throw new CommandError('The key is missing: type it, or send it to stdin.')
  return key
}

function requireId(id: string | undefined, option: string): string {
  if (id === undefined) throw new UsageError(`${option} needs the id of an import.`)
  return id
}
