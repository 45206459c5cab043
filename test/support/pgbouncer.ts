import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { nobody } from '../../server/lib/system-user.ts'
import { waitFor } from './harness.ts'
import { freePort } from './postgres-pair.ts'

/** Debian installs it where only root looks. */
const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` }

export const withoutPgbouncer =
  spawnSync('pgbouncer', ['--version'], { env }).status === 0 ? false : 'PgBouncer is not installed'

type Cleanup = { after(cleanup: () => unknown): void }

/**
 * Starts PgBouncer in front of a database, in transaction mode and with fewer connections than its clients have. Returns
 * the URL that leads to it.
 */
export async function startPgbouncer(t: Cleanup, database: string): Promise<string> {
  const target = new pg.Client(database)
  const folder = await mkdtemp(join(tmpdir(), 'kinora-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await chmod(folder, 0o755)
  const port = await freePort()
  const server = `host=${target.host} port=${target.port} user=${target.user}`
  const file = join(folder, 'pgbouncer.ini')
  await writeFile(
    file,
    `[databases]
${target.database} = ${server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 6
max_client_conn = 500
`,
  )
  const user = process.geteuid!() === 0 ? nobody : {}
  const child = spawn('pgbouncer', ['-q', file], { env, ...user, stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  child.stderr.on('data', (chunk) => {
    log += chunk
  })
  const ended = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const url = `postgres://${target.user}@127.0.0.1:${port}/${target.database}`
  await waitFor(
    () => accepts(url),
    () => log,
  )
  return url
}

async function accepts(url: string): Promise<boolean> {
  const client = new pg.Client(url)
  client.on('error', () => {})
  return client
    .connect()
    .then(() => client.query('select'))
    .then(
      () => true,
      () => false,
    )
    .finally(() => client.end().catch(() => {}))
}
