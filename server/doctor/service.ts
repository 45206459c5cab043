import { sql } from 'kysely'
import { findLastBackup } from '../backups/store.ts'
import { certificateStatus } from '../certificates/status.ts'
import type { Db } from '../lib/db.ts'
import { listeningUrl } from '../lib/running-services.ts'
import { listProcesses, type Process } from '../processes/store.ts'
import type { Tables } from '../tables.ts'
import {
  type Check,
  type DoctorContext,
  type Finding,
  failed,
  ok,
  warning,
  withoutDatabase,
} from './check.ts'
import { fetchHead, type Validity } from './http.ts'

const ifStuck = 'The database does not respond: check its load and the network.'
const dayMs = 86_400_000
const unknown = 'Not examined: the database cannot be used.'

export const serviceCheck: Check = {
  name: 'service',
  ifStuck: 'The service does not respond: see its log, and restart it.',
  async run({ config, isDataHidden, localUrl }, signal) {
    if (!localUrl && isDataHidden) return ok('Not examined: see the result for the data folder.')
    if (!localUrl) return ok('The service does not run on this data folder.')
    const request = (url: string) => fetchHead(`${url}/readyz`, signal, { rejectUnauthorized: false })
    // With HTTPS, the local URL has the public name, which this machine may be unable to reach. This command may have
    // another port in its settings.
    const isDirect = config.port !== 0 && (config.tls || config.acme)
    const { status, text } = await request(isDirect ? listeningUrl(config) : localUrl).catch(() =>
      request(localUrl),
    )
    if (status === 200) return ok(`The service is ready at ${localUrl}.`)
    const isDatabase = /"database":"unreachable"/.test(text)
    return failed(
      `The service at ${localUrl} is not ready: it cannot reach its ${isDatabase ? 'database' : 'file store'}.`,
      `See the result of the check of the ${isDatabase ? 'database' : 'file store'}.`,
    )
  },
}

export const processesCheck: Check = {
  name: 'processes',
  ifStuck,
  async run(context) {
    const { db, localUrl } = context
    if (!db) return withoutDatabase(context)
    const processes = await listProcesses(db).catch(() => undefined)
    return processes ? judgeProcesses(processes, localUrl !== undefined) : ok(unknown)
  },
}

const maxClockOffsetMs = 2_000

export function judgeProcesses(all: Process[], isRunning: boolean): Finding[] {
  const alive = all.filter(({ isAlive }) => isAlive)
  if (alive.length === 0 && !isRunning) return [ok('No process runs.')]
  const has = (role: string) => alive.some(({ roles }) => roles.includes(role))
  const versions = [...new Set(alive.map(({ version }) => version))]
  const offset = alive.find(({ clockOffsetMs }) => Math.abs(clockOffsetMs) > maxClockOffsetMs)
  const findings = [
    alive.length > 0 &&
      !has('api') &&
      failed('No process has the role api.', 'Start one with KINORA_ROLES=api.'),
    alive.length > 0 &&
      !has('worker') &&
      failed(
        'No process has the role worker: nothing is encoded, and webhooks are not delivered.',
        'Start one with KINORA_ROLES=worker.',
      ),
    versions.length > 1 &&
      warning(
        `The processes have different versions: ${versions.join(', ')}.`,
        'Upgrade and restart all of them.',
      ),
    offset &&
      warning(
        `The clock of ${offset.host} differs by ${(Math.abs(offset.clockOffsetMs) / 1_000).toFixed(1)} s from that of the database.`,
        `Synchronize the clock of ${offset.host} by NTP.`,
      ),
  ].filter((each) => typeof each === 'object')
  if (findings.length > 0) return findings
  const hosts = new Set(alive.map(({ host }) => host)).size
  const count = `${alive.length} ${alive.length === 1 ? 'process' : 'processes'}`
  return [ok(`${count} on ${hosts} ${hosts === 1 ? 'machine' : 'machines'}.`)]
}

const maxBackupAgeDays = 7

export const backupCheck: Check = {
  name: 'backup',
  ifStuck,
  async run(context) {
    const { db, now } = context
    if (!db) return withoutDatabase(context)
    try {
      const [success, failure, isEmpty] = await Promise.all([
        findLastBackup(db),
        findLastBackup(db, { isFailed: true }),
        hasNothing(db),
      ])
      return judgeBackups({ success, failure, isEmpty, now: now() })
    } catch {
      return ok(unknown)
    }
  },
}

async function hasNothing(db: Db<Tables>): Promise<boolean> {
  const { rows } = await sql`select from sources where state in ('stored', 'dropped') limit 1`.execute(db)
  return rows.length === 0
}

type Backup = NonNullable<Awaited<ReturnType<typeof findLastBackup>>>

export function judgeBackups(facts: {
  success: Backup | undefined
  failure: Backup | undefined
  isEmpty: boolean
  now: Date
}): Finding {
  const { success, failure, isEmpty, now } = facts
  if (failure && (!success || failure.started_at > success.started_at))
    return warning(
      `The last backup failed: ${failure.error?.replace(/\.$/, '')}.`,
      `Repeat it: kinora backup ${failure.destination}`,
    )
  if (!success && isEmpty) return ok('There is nothing to back up yet.')
  if (!success)
    return warning(
      'There is no backup.',
      'Run "kinora backup FOLDER", and repeat it every day (docs/backups.md).',
    )
  const days = Math.floor((now.getTime() - success.started_at.getTime()) / dayMs)
  if (days > maxBackupAgeDays)
    return warning(
      `The last backup is ${days} days old.`,
      `Repeat it every day: kinora backup ${success.destination}`,
    )
  return ok(`The last backup began at ${success.started_at.toISOString()}.`)
}

/**
 * Kinora renews certificates when a third of their lifetime is left, which is 30 days for those of public authorities. Half
 * of that time later, something is wrong. The alert has the same limits.
 */
const renewDays = 14
const renewShare = 1 / 6

export const certificateCheck: Check = {
  name: 'certificate',
  ifStuck: 'Nothing answers at the public URL: see the result of its check.',
  async run(context, signal) {
    const own = await findOwnCertificate(context)
    if (own) return own
    const { publicUrl, localUrl, now } = context
    if (!publicUrl.startsWith('https:')) return ok('The public URL does not use HTTPS.')
    if (!localUrl) return ok('Not examined: the service does not run here.')
    const head = await fetchHead(`${publicUrl}/healthz`, signal, { rejectUnauthorized: false }).catch(
      () => undefined,
    )
    if (!head?.validity) return ok('Not examined: the public URL does not respond.')
    return judgeExpiry(publicUrl, head.validity, now())
  },
}

/** Undefined if the certificate is not one of this process. */
async function findOwnCertificate({ config, db, now }: DoctorContext): Promise<Finding | undefined> {
  if (config.acme && !db) return ok('Not examined: the embedded Postgres, which has it, does not run.')
  // Without the database, only the files of the settings can be read.
  const { source, domains, notBefore, notAfter, lastError } = await certificateStatus({
    config,
    db: db as Parameters<typeof certificateStatus>[0]['db'],
  })
  if (source === 'none') return undefined
  const name = domains.join(', ') || 'The certificate'
  const advice =
    source === 'file'
      ? 'Renew it, and check KINORA_TLS_CERT and KINORA_TLS_KEY.'
      : 'Check that port 80 of KINORA_DOMAIN reaches this machine: see docs/deploy.md.'
  const expiry = notBefore && notAfter && judgeExpiry(name, { notBefore, notAfter }, now(), advice)
  if (expiry && expiry.state !== 'ok') return expiry
  if (lastError)
    return (expiry ? warning : failed)(
      `The certificate cannot be used or renewed: ${lastError.replace(/\.$/, '')}.`,
      advice,
    )
  return expiry ?? warning('There is no certificate yet.', advice)
}

export function judgeExpiry(
  name: string,
  { notBefore, notAfter }: Validity,
  now: Date,
  advice = 'Renew the certificate: see the log of whatever renews it.',
): Finding {
  const leftMs = notAfter.getTime() - now.getTime()
  const lifetimeMs = notAfter.getTime() - notBefore.getTime()
  const date = notAfter.toISOString().slice(0, 10)
  if (leftMs < 0) return failed(`${name}: the certificate has expired on ${date}.`, advice)
  if (leftMs < Math.min(renewDays * dayMs, renewShare * lifetimeMs))
    return warning(
      `${name}: the certificate expires on ${date}, in ${Math.floor(leftMs / dayMs)} days.`,
      advice,
    )
  return ok(`${name}: the certificate is valid until ${date}.`)
}
