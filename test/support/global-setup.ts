import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import pg from 'pg'
import { type EmbeddedPostgres, openEmbeddedPostgres } from '../../server/lib/postgres/open.ts'
import { type Bundle, bundleServer } from './bundle.ts'
import { root, startKinora } from './harness.ts'
import { writePrograms } from './programs.ts'

// One Postgres server for the whole run. Each test copies a migrated database, because running the migrations takes longer
// than most tests.

let folder: string
let postgres: EmbeddedPostgres
let bundle: Bundle

const quiet = { info() {}, warn() {}, error() {} }

async function openPostgres(): Promise<pg.Client> {
  postgres = await openEmbeddedPostgres({ folder: join(folder, 'postgres'), log: quiet })
  const { user, password, host, database } = postgres.connection
  // No request fails because it gets no connection in time on a busy machine.
  const parameters = new URLSearchParams({ host, connect_timeout: '120' })
  process.env.TEST_POSTGRES = `postgres://${user}:${password}@localhost/${database}?${parameters}`
  const client = new pg.Client(process.env.TEST_POSTGRES)
  await client.connect()
  return client
}

async function configurePostgres(client: pg.Client): Promise<void> {
  // No test stops this server, so nothing depends on its disk, and no database lives long enough to need a vacuum.
  for (const setting of ['fsync', 'full_page_writes', 'synchronous_commit', 'autovacuum'])
    await client.query(`alter system set ${setting} = off`)
  // Several test files run at once, some of them with many services.
  await client.query('alter system set max_connections = 600')
  await client.end()
}

export async function globalSetup(): Promise<void> {
  bundle = await bundleServer(root)
  process.env.TEST_SERVER = bundle.service
  process.env.TEST_COMMAND_LINE = bundle.commandLine
  folder = await mkdtemp(join(tmpdir(), 'kinora-test-'))
  // As root, the service runs ffmpeg as another user.
  await chmod(folder, 0o755)
  process.env.TEST_PROGRAMS = join(folder, 'programs')
  writePrograms(process.env.TEST_PROGRAMS)
  process.env.PATH = [join(process.env.TEST_PROGRAMS, 'bin'), process.env.PATH].join(delimiter)
  await configurePostgres(await openPostgres())
  await postgres.close()
  const client = await openPostgres()
  await client.query('create database template_kinora')
  const template = new URL(process.env.TEST_POSTGRES!)
  template.pathname = '/template_kinora'
  // Without a worker, which would leave the state of its sweep in every copy.
  const kinora = await startKinora({
    KINORA_DATABASE_URL: template.href,
    KINORA_DATA_DIR: folder,
    KINORA_ROLES: 'api',
  })
  await kinora.stop()
  await client.end()
}

export async function globalTeardown(): Promise<void> {
  await postgres?.close()
  await bundle?.remove()
  if (folder) await rm(folder, { recursive: true, force: true })
}
