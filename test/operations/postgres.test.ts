import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import {
  appendFile,
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { findPackage, prepareBinaries } from '../../server/lib/postgres/binaries.ts'
import { ensureCluster, recordVersion } from '../../server/lib/postgres/cluster.ts'
import {
  type EmbeddedPostgres,
  openEmbeddedPostgres,
  type PostgresConnection,
  PostgresError,
} from '../../server/lib/postgres/open.ts'
import { findPostgresProcesses, findPostmaster, waitUntilGone } from '../../server/lib/postgres/process.ts'
import { RunError, run } from '../../server/lib/run.ts'
import { ensureSystemUser } from '../../server/lib/system-user.ts'
import { timeoutMs } from '../support/harness.ts'

type User = { uid: number; gid: number }
type OpenResult = {
  logged?: string[]
  tookMs?: number
  connection?: PostgresConnection
  name?: string
  message?: string
  cause?: string
}

const isRoot = process.geteuid!() === 0
const rootOnly = { skip: isRoot ? false : 'needs root to run processes as several users' }
const root = join(import.meta.dirname, '../..')
const fixture = join(import.meta.dirname, '../support/open-postgres.ts')
const NOBODY = 65534
/** The tests mostly wait for processes to start. */
const twoAtOnce = { concurrency: 2 }

let ordinaryUser: User
let base: string
let template: string

before(async () => {
  base = await mkdtemp(join(tmpdir(), 'kinora-postgres-'))
  await chmod(base, 0o711)
  ordinaryUser = await findOrdinaryUser()
  template = join(base, 'template')
  const postgres = await openEmbeddedPostgres({ folder: template, log: silentLog })
  await query(postgres.connection, 'CREATE TABLE kept (what text)')
  await postgres.close()
})

after(() => rm(base, { recursive: true, force: true }))

describe('opening', twoAtOnce, () => {
  test('the first open creates a durable, socket-only database, and a later open finds its rows', async (t) => {
    const database = await createTestDatabase(t, { path: 'not there yet/with spaces' })
    const first = await database.open()
    const settings = await query(
      first.connection,
      `SELECT current_setting('fsync') || current_setting('synchronous_commit') || current_setting('full_page_writes')
         AS durable, current_setting('listen_addresses') AS network, current_setting('TimeZone') AS timezone,
         current_database() AS database, (SELECT datlocprovider::text || datlocale FROM pg_database
         WHERE datname = current_database()) AS locale`,
    )
    assert.deepEqual(settings, [
      { durable: 'ononon', network: '', timezone: 'UTC', database: 'kinora', locale: 'bC.UTF-8' },
    ])
    await query(first.connection, 'CREATE TABLE notes (what text)')
    await query(first.connection, `INSERT INTO notes VALUES ('ü')`)
    await first.close()
    assert.deepEqual(await findPostgresProcesses(database.cluster), [])

    const second = await database.open()
    assert.deepEqual(await query(second.connection, 'SELECT what FROM notes'), [{ what: 'ü' }])
  })

  test('other users cannot access the folder, and it contains no password', async (t) => {
    const database = await createTestDatabase(t)
    await chmod(database.folder, 0o755)
    const { connection } = await database.open()
    assert.equal((await stat(database.folder)).mode & 0o777, 0o700)
    assert.equal((await stat(database.cluster)).mode & 0o777, 0o700)
    assert.equal(connection.password, undefined)
    const names = await readdir(database.folder, { recursive: true })
    assert.deepEqual(
      names.filter((name) => /password/.test(name)),
      [],
    )
  })

  test('a folder whose path exceeds the length limit of socket paths works, also after a restart of the server', async (t) => {
    const database = await createTestDatabase(t, { copy: true, path: `${'deep/'.repeat(30)}folder` })
    assert.ok(Buffer.byteLength(database.cluster) > 150)
    const { connection } = await database.open()
    assert.equal((await query(connection, 'SELECT 1 AS one'))[0]?.one, 1)
    process.kill((await findPostmaster(database.cluster))!, 'SIGKILL')
    await database.waitUntilReachable(connection)
  })

  test('one process can open two folders at the same time, each with its own server', async (t) => {
    const databases = [
      await createTestDatabase(t, { copy: true }),
      await createTestDatabase(t, { copy: true }),
    ]
    const [one, two] = await Promise.all(databases.map((database) => database.open()))
    await query(one!.connection, `INSERT INTO kept VALUES ('one')`)
    assert.deepEqual(await query(two!.connection, 'SELECT * FROM kept'), [])
  })

  test('two processes that open a new folder at the same time share one server, and the last one stops it', async (t) => {
    const database = await createTestDatabase(t)
    const [one, two] = [database.openInChild(), database.openInChild()]
    const results = await Promise.all([one.result, two.result])
    assert.deepEqual(results[0].connection, results[1].connection)
    const pid = await findPostmaster(database.cluster)
    assert.ok(pid)
    assert.deepEqual(await database.temporaryFolders(), [])

    assert.equal(await one.end('SIGTERM'), 0)
    await query(results[1].connection!, 'SELECT 1')
    assert.equal(await findPostmaster(database.cluster), pid)
    assert.equal(await two.end('SIGTERM'), 0)
    assert.deepEqual(await findPostgresProcesses(database.cluster), [])
  })

  test('opening while the last user closes returns a running server', async (t) => {
    const database = await createTestDatabase(t, { copy: true })
    let last = await database.open()
    for (let round = 0; round < 6; round++) {
      // The delay makes the open meet a different step of the close in each round.
      const [next] = await Promise.all([delay(round * 4).then(() => database.open()), last.close()])
      await query(next.connection, 'SELECT 1')
      last = next
    }
  })

  test('opening a restored backup corrects a wrong owner and permissions that are too open', async (t) => {
    const database = await createTestDatabase(t, { copy: true })
    if (isRoot) await run('chown', ['-R', '0:0', database.folder])
    await chmod(database.cluster, 0o755)
    const { connection } = await database.open()
    assert.deepEqual(await query(connection, 'SELECT * FROM kept'), [])
    assert.equal((await stat(database.cluster)).mode & 0o777, 0o700)
  })

  test('the server log is rotated', async (t) => {
    const database = await createTestDatabase(t, { copy: true })
    const log = join(database.folder, 'server.log')
    await writeFile(log, 'x'.repeat(9_000_000))
    await database.open()
    const isSmall = async () => (await stat(log)).size < 100_000
    assert.ok(await isSmall())
    assert.equal((await stat(`${log}.old`)).size, 9_000_000)
    await appendFile(log, 'x'.repeat(9_000_000))
    await until('the log is rotated', isSmall)
  })
})

describe('users', twoAtOnce, () => {
  test(
    'as root, the server runs as a dedicated user without capabilities, in folders that only root may enter',
    rootOnly,
    async (t) => {
      const database = await createTestDatabase(t, { path: 'closed/postgres' })
      await chmod(join(database.folder, '..'), 0o700)
      const { connection } = await database.open()
      const status = await readFile(`/proc/${await findPostmaster(database.cluster)}/status`, 'utf8')
      assert.match(status, new RegExp(`^Uid:(\\s+${(await postgresUser()).uid}){4}$`, 'm'))
      assert.match(status, /^Groups:\s*$/m)
      for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapAmb'])
        assert.match(status, new RegExp(`^${set}:\\s+0+$`, 'm'))
      // The extension loads a library from the package.
      await query(connection, 'CREATE EXTENSION pg_trgm')
      await database.assertRestartsAfterKill(connection)
    },
  )

  test('a process of the dedicated user cannot log in', rootOnly, async (t) => {
    const database = await createTestDatabase(t, { copy: true })
    // The process must be able to reach the socket.
    for (const path of [join(database.folder, '..'), database.folder]) await chmod(path, 0o711)
    const { connection } = await database.open()
    await chmod(database.folder, 0o711)
    const code = await runAs(
      await postgresUser(),
      `import pg from 'pg'
       const client = new pg.Client(${JSON.stringify(connection)})
       console.log(await client.connect().then(() => 'connected', (error) => error.code))`,
    )
    assert.equal(code, '28000')
  })

  test(
    'a cluster from an older version, which belongs to nobody and has a password, is converted',
    rootOnly,
    async (t) => {
      const database = await createTestDatabase(t, { copy: true })
      await run('chown', ['-R', `${NOBODY}:${NOBODY}`, database.cluster])
      await chmod(database.folder, 0o711)
      await writeFile(join(database.cluster, 'kinora.password'), 'old', { mode: 0o600 })
      await writeFile(join(database.cluster, 'pg_hba.conf'), 'local all all scram-sha-256\n')
      const { connection } = await database.open()
      assert.deepEqual(await query(connection, 'SELECT * FROM kept'), [])
      const { uid } = await postgresUser()
      for (const name of await readdir(database.cluster))
        if (name !== 'postmaster.pid') assert.equal((await stat(join(database.cluster, name))).uid, uid, name)
      await assert.rejects(stat(join(database.cluster, 'kinora.password')), { code: 'ENOENT' })
    },
  )

  test('if no user can be created, the server runs as nobody and logs a warning', rootOnly, async (t) => {
    const database = await createTestDatabase(t)
    const users = join(base, 'passwd')
    const known = (await readFile('/etc/passwd', 'utf8')).split('\n')
    await writeFile(users, known.filter((line) => !line.startsWith('kinora-')).join('\n'))
    // Adding a user replaces /etc/passwd, which fails for a bind mount.
    const mount = `mount --bind ${users} /etc/passwd && exec "$@"`
    const isAllowed = await run('unshare', ['--mount', 'sh', '-c', mount, 'sh', 'true']).then(
      () => true,
      () => false,
    )
    if (!isAllowed) return t.skip('this root user may not mount')
    const opener = database.openInChild({ prefix: ['unshare', '--mount', 'sh', '-c', mount, 'sh'] })
    const { connection, message, logged } = await opener.result
    assert.ok(connection, message)
    assert.match(String(logged), /Postgres runs as the user nobody/)
    assert.equal((await stat(`/proc/${await findPostmaster(database.cluster)}`)).uid, NOBODY)
  })

  test('an ordinary user can open, close and reopen the database', rootOnly, async (t) => {
    const database = await createTestDatabase(t, { owner: ordinaryUser })
    for (const round of ['first', 'second']) {
      const opener = database.openInChild({ user: ordinaryUser })
      const { connection, message } = await opener.result
      assert.ok(connection, `${round}: ${message}`)
      assert.equal((await stat(`/proc/${await findPostmaster(database.cluster)}`)).uid, ordinaryUser.uid)
      assert.equal(await opener.end('SIGTERM'), 0)
    }
  })

  test('root can open the database of an ordinary user, who keeps its ownership', rootOnly, async (t) => {
    const database = await createTestDatabase(t, { owner: ordinaryUser, copy: true })
    const root = database.openInChild()
    const { connection } = await root.result
    await query(connection!, 'SELECT 1')
    const pid = await findPostmaster(database.cluster)
    await root.end('SIGKILL')

    const user = database.openInChild({ user: ordinaryUser })
    assert.ok((await user.result).connection)
    assert.equal(await findPostmaster(database.cluster), pid)
    assert.equal(await user.end('SIGTERM'), 0)
    assert.deepEqual(await findPostgresProcesses(database.cluster), [])

    const again = database.openInChild({ user: ordinaryUser })
    const { connection: reopened, message } = await again.result
    assert.ok(reopened, message)
  })

  test('an ordinary user gets an error for a database that root created', rootOnly, async (t) => {
    const database = await createTestDatabase(t, { copy: true })
    const { message } = await database.openInChild({ user: ordinaryUser }).result
    assert.match(message ?? '', /^The database in .* was created by root and this is uid \d+: .*chown -R/)
  })

  test('a user without an entry in /etc/passwd opens, uses and reopens a database', rootOnly, async (t) => {
    const wrapper = findNssWrapper()
    if (!wrapper) return t.skip('libnss-wrapper is not installed')
    const stranger = { uid: 54321, gid: 0 }
    const database = await createTestDatabase(t, { owner: stranger })
    const env = { LD_LIBRARY_PATH: dirname(wrapper) }
    for (const attempt of [1, 2]) {
      const child = database.openInChild({ user: stranger, env })
      const { connection, message } = await child.result
      assert.ok(connection, `${attempt}: ${message}`)
      // Root may run commands on the database, too.
      assert.deepEqual(await query(connection, 'SELECT current_user'), [{ current_user: 'kinora' }])
      assert.equal((await stat(`/proc/${await findPostmaster(database.cluster)}`)).uid, stranger.uid)
      assert.equal(await child.end('SIGTERM'), 0)
    }
  })

  test('without nss_wrapper, that user gets an error that Postgres needs an entry', rootOnly, async (t) => {
    if (findNssWrapper()?.startsWith('/usr/lib')) return t.skip('libnss-wrapper is installed')
    const stranger = { uid: 54321, gid: 54321 }
    const database = await createTestDatabase(t, { owner: stranger })
    const { message } = await database.openInChild({ user: stranger }).result
    assert.match(message ?? '', /^Postgres needs a user with id 54321 in \/etc\/passwd/)
    assert.deepEqual(await database.temporaryFolders(), [])
  })
})

describe('crash recovery', twoAtOnce, () => {
  test('the next process reuses a server whose opener was killed, and stops it on close', async (t) => {
    const database = await createTestDatabase(t, { copy: true })
    const opener = database.openInChild()
    await opener.result
    const pid = await findPostmaster(database.cluster)
    await opener.end('SIGKILL')

    const next = await database.open()
    assert.equal(await findPostmaster(database.cluster), pid)
    const locks = () => query(next.connection, `SELECT FROM pg_locks WHERE locktype = 'advisory'`)
    await until('the server has noticed that the opener is gone', async () => (await locks()).length === 1)
    await next.close()
    assert.deepEqual(await findPostgresProcesses(database.cluster), [])
  })

  test('an acknowledged row survives a kill of the opener and of every Postgres process', async (t) => {
    const database = await createTestDatabase(t, { copy: true })
    const opener = database.openInChild()
    const { connection } = await opener.result
    await query(connection!, `INSERT INTO kept VALUES ('acknowledged')`)
    const all = await findPostgresProcesses(database.cluster)
    assert.ok(all.length > 1)
    await Promise.all([opener.end('SIGKILL'), ...all.map(kill)])

    const next = await database.open()
    assert.deepEqual(await query(next.connection, 'SELECT what FROM kept'), [{ what: 'acknowledged' }])
  })

  test('a kill during the creation of the cluster leaves no partial cluster', async (t) => {
    // A cluster that was complete before the kill does not count: a busy machine may need several tries.
    for (;;) {
      const database = await createTestDatabase(t)
      const isCreating = async () => (await database.temporaryFolders()).length > 1
      const opener = database.openInChild()
      const results: OpenResult[] = []
      opener.result.then((result) => results.push(result)).catch(() => {})
      await until('initdb runs or has ended', async () => results.length > 0 || (await isCreating()))
      assert.equal(results[0]?.message, undefined)
      await opener.end('SIGKILL')
      if (!(await isCreating())) continue

      const { connection } = await database.open()
      await query(connection, 'SELECT 1')
      assert.deepEqual(await database.temporaryFolders(), [])
      return
    }
  })

  test('a server that is killed during startup is started again', async (t) => {
    const database = await createTestDatabase(t, { copy: true })
    const opener = database.openInChild()
    const killed: number[] = []
    for (let i = 0; i < 2; i++) {
      const pid = await opener.nextServer(killed)
      assert.ok(pid)
      process.kill(pid, 'SIGKILL')
      killed.push(pid)
    }
    const { connection, message } = await opener.result
    assert.ok(connection, message)
    await database.waitUntilReachable(connection)
  })

  test('opening fails with an error if the server is killed on every start', async (t) => {
    const database = await createTestDatabase(t, { copy: true })
    // A server that was ready before the test killed it does not count: a busy machine may need several tries.
    for (;;) {
      const opener = database.openInChild()
      const killed: number[] = []
      for (;;) {
        const pid = await Promise.race([opener.nextServer(killed), opener.result.then(() => undefined)])
        if (pid === undefined) break
        killed.push(pid)
        await kill(pid)
      }
      const { connection, message = '' } = await opener.result
      if (!connection) {
        assert.match(message, /^Postgres in .* was killed \d+ times while it was starting .*SIGKILL/)
        return
      }
      await opener.end('SIGTERM')
    }
  })

  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    test(`a postmaster that ${signal} ended is restarted for all processes that have it open`, async (t) => {
      const database = await createTestDatabase(t, { copy: true })
      const other = database.openInChild()
      const [here, there] = [await database.open(), await other.result]
      const pid = (await findPostmaster(database.cluster))!
      process.kill(pid, signal)
      await until('another server runs', async () => {
        const now = await findPostmaster(database.cluster)
        return now !== undefined && now !== pid
      })
      await database.waitUntilReachable(here.connection)
      assert.match(database.logged(), /connection lost: recovering/)
      await until('both processes hold their lock', async () => (await countUsers(here.connection)) === 2)

      assert.equal(await other.end('SIGTERM'), 0)
      await query(here.connection, 'SELECT 1')
      await here.close()
      assert.deepEqual(await findPostgresProcesses(database.cluster), [])
      assert.equal(there.connection?.host, here.connection.host)
    })
  }

  test('a backend that is busy when its postmaster is killed does not block the restart', async (t) => {
    const database = await createTestDatabase(t, { copy: true })
    const { connection } = await database.open()
    const endless = query(connection, 'SELECT count(*) FROM generate_series(1, 1e12)').catch(() => {})
    await until('the endless query runs', async () => {
      const [row] = await query(
        connection,
        `SELECT count(*)::int AS n FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%1e12%'`,
      )
      return Number(row?.n) > 1
    })
    process.kill((await findPostmaster(database.cluster))!, 'SIGKILL')
    await endless
    await database.waitUntilReachable(connection)
  })

  test('closing during a restart of the server leaves no process running, even if called several times', async (t) => {
    const database = await createTestDatabase(t, { copy: true })
    // Each delay makes the close meet a different step of the restart.
    for (const waitMs of [0, 20, 60]) {
      const postgres = await database.open()
      const pid = (await findPostmaster(database.cluster))!
      process.kill(pid, 'SIGKILL')
      await waitUntilGone(pid, 5000)
      await delay(waitMs)
      await Promise.all([postgres.close(), postgres.close()])
      await postgres.close()
      await until(
        'no process is left',
        async () => (await findPostgresProcesses(database.cluster)).length === 0,
      )
    }
  })

  test('a stale pid file with the pid of another process of the same user does not block the start', async (t) => {
    const database = await createTestDatabase(t, { copy: true })
    await (await database.open()).close()
    const user = isRoot ? await postgresUser() : {}
    const stranger = spawn('sleep', ['60'], { stdio: 'ignore', ...user })
    t.after(() => stranger.kill('SIGKILL'))
    const stale = `${stranger.pid}\n${database.cluster}\n1700000000\n5432\n.\n\n  1234567         9\nready   \n`
    await writeFile(join(database.cluster, 'postmaster.pid'), stale)
    await writeFile(join(database.cluster, '.s.PGSQL.5432.lock'), stale)
    const { connection } = await database.open()
    await query(connection, 'SELECT 1')
    assert.equal(stranger.exitCode, null)
  })

  test('a pid file that a power failure left empty does not block the start', async (t) => {
    const database = await createTestDatabase(t, { copy: true })
    await writeFile(join(database.cluster, 'postmaster.pid'), '')
    await writeFile(join(database.cluster, '.s.PGSQL.5432.lock'), '')
    await query((await database.open()).connection, 'SELECT 1')
  })
})

describe('errors are one sentence', twoAtOnce, () => {
  test('a file is in the path of the folder', async (t) => {
    const database = await createTestDatabase(t)
    await writeFile(join(database.folder, 'file'), '')
    await assert.rejects(
      openEmbeddedPostgres({ folder: join(database.folder, 'file/postgres'), log: silentLog }),
      postgresError(/^The database folder .* cannot be used because a file is in its place/),
    )
  })

  test('the folder is not writable', async (t) => {
    const database = await createTestDatabase(t)
    await chmod(database.folder, 0o555)
    const opener = database.openInChild({ user: isRoot ? ordinaryUser : undefined, under: 'postgres' })
    assert.match((await opener.result).message ?? '', /^The database folder .* cannot be created or written/)
  })

  test('the disk is full during the creation of the cluster or during startup', rootOnly, async (t) => {
    const database = await createTestDatabase(t)
    const disk = join(database.folder, 'disk')
    await mkdir(disk)
    try {
      await run('mount', ['-t', 'tmpfs', '-o', 'size=20m,mode=755', 'tmpfs', disk])
    } catch (error) {
      return t.skip(`this root user may not mount a tmpfs: ${(error as Error).message}`)
    }
    try {
      const full = postgresError(/^The disk that holds .* is full/)
      const folder = join(disk, 'postgres')
      await assert.rejects(openEmbeddedPostgres({ folder, log: silentLog }), full)
      assert.deepEqual(await readdir(folder), [])

      await run('mount', ['-o', 'remount,size=80m', disk])
      await (await openEmbeddedPostgres({ folder, log: silentLog })).close()
      await run('dd', ['if=/dev/zero', `of=${join(disk, 'filler')}`, 'bs=64k']).catch(() => {})
      await assert.rejects(openEmbeddedPostgres({ folder, log: silentLog }), full)

      await unlink(join(disk, 'filler'))
      await (await openEmbeddedPostgres({ folder, log: silentLog })).close()
    } finally {
      await run('umount', [disk])
    }
  })

  test('the cluster was created by another version of Postgres', async (t) => {
    const database = await createTestDatabase(t, { copy: true })
    await writeFile(join(database.cluster, 'PG_VERSION'), '17\n')
    await assert.rejects(
      database.open(),
      postgresError(
        /^The database in .* was created by Postgres 17, .* includes Postgres 18: run "kinora backup" with the version of Kinora that you used before/,
      ),
    )
    await recordVersion(database.folder, '99.1.0')
    await assert.rejects(database.open(), postgresError(/run "kinora backup" with Kinora 99\.1\.0, and/))
  })

  test('the cluster folder contains other files', async (t) => {
    const database = await createTestDatabase(t)
    await mkdir(database.cluster)
    await writeFile(join(database.cluster, 'holiday.jpg'), '')
    await assert.rejects(database.open(), postgresError(/is not a database of Postgres/))
  })

  test('the server does not start, and its last log lines are the cause', async (t) => {
    const database = await createTestDatabase(t, { copy: true })
    await writeFile(join(database.cluster, 'postgresql.auto.conf'), `shared_buffers = 'lots'\n`)
    await assert.rejects(database.open(), (error: Error) => {
      postgresError(/^Postgres did not start in .*: .*contains errors/)(error)
      assert.match(String(error.cause), /invalid value for parameter "shared_buffers": "lots"/)
      return true
    })
  })

  test('there is no Postgres package for this platform', () => {
    const unsupported = postgresError(
      /^There is no embedded Postgres for sunos-sparc: set KINORA_DATABASE_URL/,
    )
    assert.throws(() => findPackage('sunos-sparc'), unsupported)
    const other = process.arch === 'x64' ? 'linux-arm64' : 'linux-x64'
    assert.throws(
      () => findPackage(other),
      postgresError(/^The package .* is not installed: .*KINORA_DATABASE_URL/),
    )
  })

  test('a shared library is missing', async (t) => {
    const database = await createTestDatabase(t)
    const root = await copyPackage(database.folder)
    for (const name of await readdir(join(root, 'native/lib'))) {
      if (name.startsWith('libicuuc')) await unlink(join(root, 'native/lib', name))
    }
    const binaries = await prepareBinaries(root, database.folder)
    await assert.rejects(
      ensureCluster(database.folder, binaries, new AbortController().signal),
      postgresError(/^Postgres needs the library libicuuc\.so\.\d+: install it/),
    )
  })
})

describe('the package', twoAtOnce, () => {
  test('concurrent calls add the library links and permissions that npm omitted', async (t) => {
    const database = await createTestDatabase(t)
    const root = await copyPackage(database.folder)
    const programs = ['initdb', 'postgres'].map((name) => join(root, 'native/bin', name))
    for (const program of programs) await chmod(program, 0o644)
    const [binaries] = await Promise.all([
      prepareBinaries(root, database.folder),
      prepareBinaries(root, database.folder),
    ])
    assert.equal(binaries.env.LD_LIBRARY_PATH, undefined)
    assert.equal(await readlink(join(root, 'native/lib/libpq.so.5')), 'libpq.so.5.18')
    for (const program of programs) await run(program, ['--version'], { env: binaries.env })
  })

  test('the library links of a read-only package are created in the database folder', async (t) => {
    const database = await createTestDatabase(t, { owner: isRoot ? ordinaryUser : undefined })
    const copies = await createTestDatabase(t)
    const root = await copyPackage(copies.folder)
    await chmod(join(root, 'native/lib'), 0o555)
    const script = `
      import { prepareBinaries } from ${JSON.stringify(join(import.meta.dirname, '../../server/lib/postgres/binaries.ts'))}
      import { run } from ${JSON.stringify(join(import.meta.dirname, '../../server/lib/run.ts'))}
      const binaries = await prepareBinaries(${JSON.stringify(root)}, ${JSON.stringify(database.folder)})
      console.log((await run(binaries.postgres, ['--version'], { env: binaries.env })).stdout)
      console.log((await run(binaries.initdb, ['--version'], { env: binaries.env })).stdout)`
    const asOrdinaryUser = isRoot
      ? ['setpriv', `--reuid=${ordinaryUser.uid}`, `--regid=${ordinaryUser.gid}`, '--clear-groups']
      : []
    const [command = '', ...args] = [
      ...asOrdinaryUser,
      process.execPath,
      '--input-type=module',
      '--eval',
      script,
    ]
    // An ordinary user could not remove a folder that is not writable.
    const { stdout } = await run(command, args).finally(() => chmod(join(root, 'native/lib'), 0o755))
    assert.match(stdout, /PostgreSQL\) 18.*PostgreSQL\) 18/s)
    assert.ok((await readdir(join(database.folder, 'lib'))).includes('libpq.so.5'))
    assert.ok(!(await readdir(join(root, 'native/lib'))).includes('libpq.so.5'))
  })
})

describe('the package as root', () => {
  test('the package is copied for a user who cannot access it', rootOnly, async (t) => {
    const database = await createTestDatabase(t)
    const closed = join(database.folder, 'closed')
    await mkdir(closed, { mode: 0o700 })
    await chmod(database.folder, 0o711)
    const root = await copyPackage(closed)
    // The permissions that npm creates for a root user whose umask is 077.
    await run('chmod', ['-R', 'go=', root])
    const shared = join(database.folder, 'shared')
    const user = await postgresUser()
    const [binaries] = await Promise.all(
      [1, 2].map(() => prepareBinaries(root, database.folder, user, shared)),
    )
    assert.ok(binaries)
    assert.ok(binaries.postgres.startsWith(`${shared}/`), binaries.postgres)
    assert.deepEqual((await readdir(shared)).length, 1)
    await ensureCluster(database.folder, binaries, new AbortController().signal)
    assert.equal((await stat(database.cluster)).uid, user.uid)
  })

  test('the package is not copied to a folder that other users can change', rootOnly, async (t) => {
    const database = await createTestDatabase(t)
    const closed = join(database.folder, 'closed')
    await mkdir(closed, { mode: 0o700 })
    const root = await copyPackage(closed)
    const shared = join(database.folder, 'shared')
    await mkdir(shared)
    await chmod(shared, 0o777)
    await assert.rejects(
      prepareBinaries(root, database.folder, await postgresUser(), shared),
      postgresError(/could not be copied .* can be changed by other users than root/),
    )
  })
})

describe('run', () => {
  test('returns the output of the command', async () => {
    assert.deepEqual(await run('sh', ['-c', 'echo out; echo err >&2']), { stdout: 'out\n', stderr: 'err\n' })
  })

  test('an error contains the exit code, the quoted command and the end of a long stderr', async () => {
    const script = 'seq 100000 >&2; echo last words >&2; exit 3'
    await assert.rejects(run('sh', ['-c', script]), (error: unknown) => {
      assert.ok(error instanceof RunError)
      assert.equal(error.exitCode, 3)
      assert.equal(error.command, `sh -c '${script}'`)
      assert.equal(Buffer.byteLength(error.stderr), 64 * 1024)
      assert.match(error.message, /^exited with code 3: sh -c .*\nlast words$/s)
      return true
    })
  })

  test('an error contains the signal that ended the command', async () => {
    await assert.rejects(run('sh', ['-c', 'kill -SEGV $$']), { signal: 'SIGSEGV', exitCode: null })
  })

  test('a command that does not exist is an error', async () => {
    await assert.rejects(run('/nowhere/program', ['x y']), {
      name: 'RunError',
      message: "could not be started: /nowhere/program 'x y'",
    })
  })

  test('an abort ends the command and its children before the promise settles', async (t) => {
    const database = await createTestDatabase(t)
    const pidFile = join(database.folder, 'pid')
    const abort = new AbortController()
    const script = `trap '' TERM; sleep 60 & echo $! > "${pidFile}.new"; mv "${pidFile}.new" "${pidFile}"; wait`
    const running = run('sh', ['-c', script], { signal: abort.signal })
    const ended = assert.rejects(running, { name: 'RunError', signal: 'SIGKILL', cause: 'enough' })
    await until('the child runs', async () => (await readdir(database.folder)).includes('pid'))
    abort.abort('enough')
    await ended
    assert.ok(await waitUntilGone(Number(await readFile(pidFile, 'utf8')), timeoutMs))
  })

  test('a command inherits only PATH from the environment', async () => {
    process.env.KINORA_PRODUCTION_KEY = 'secret'
    try {
      const { stdout } = await run('env', [])
      assert.match(stdout, /^PATH=/m)
      assert.doesNotMatch(stdout, /secret|^(HOME|USER|NODE_|npm_|KINORA_|AWS_)/m)
    } finally {
      delete process.env.KINORA_PRODUCTION_KEY
    }
  })

  test('a command that exceeds the output limit is ended', async () => {
    await assert.rejects(
      run('yes', [], { stdoutLimitBytes: 100_000 }),
      /^RunError: wrote more than 100000 bytes: yes/,
    )
  })
})

/** The library of the system, or the one that the set-up of the tests has unpacked. */
function findNssWrapper(): string | undefined {
  const unpacked = `${root}/node_modules/.kinora/*/libnss-wrapper/usr/lib/*/libnss_wrapper.so`
  return globSync(['/usr/lib/*/libnss_wrapper.so', '/usr/lib*/libnss_wrapper.so', unpacked])[0]
}

const silentLog = { info() {}, warn() {}, error() {} }

/** A folder for one test. After the test, its servers are stopped and it is removed. */
async function createTestDatabase(
  t: TestContext,
  options: { copy?: boolean; owner?: User; path?: string } = {},
) {
  const top = await mkdtemp(join(base, 'test-'))
  await chmod(top, 0o711)
  const folder = join(top, options.path ?? 'postgres')
  const cluster = join(folder, 'cluster')
  if (options.copy) {
    await mkdir(join(folder, '..'), { recursive: true })
    await run('cp', ['-a', template, folder])
  } else if (options.path) await mkdir(join(folder, '..'), { recursive: true })
  else await mkdir(folder, { mode: 0o711 })
  if (options.owner && options.copy) {
    await run('chown', ['-R', `${options.owner.uid}:${options.owner.gid}`, folder])
  } else if (options.owner) await chown(folder, options.owner.uid, options.owner.gid)

  const opened: EmbeddedPostgres[] = []
  const children: ChildProcess[] = []
  const lines: string[] = []
  const record = (fields: object, message: string) => void lines.push(`${message} ${JSON.stringify(fields)}`)

  t.after(async () => {
    await Promise.all(opened.map((postgres) => postgres.close()))
    for (const child of children.filter((one) => one.exitCode === null && one.signalCode === null)) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    const postmaster = await findPostmaster(cluster)
    if (postmaster !== undefined) {
      process.kill(postmaster, 'SIGQUIT')
      await waitUntilGone(postmaster, 5000)
    }
    await Promise.all((await findPostgresProcesses(cluster)).map(kill))
    await rm(top, { recursive: true, force: true })
  })

  return {
    folder,
    cluster,
    logged: () => lines.join('\n'),
    temporaryFolders: async () =>
      (await readdir(folder)).filter((name) => /^(cluster\.new|opening)\./.test(name)),

    async open(): Promise<EmbeddedPostgres> {
      const postgres = await openEmbeddedPostgres({
        folder,
        log: { info: record, warn: record, error: record },
      })
      opened.push(postgres)
      return postgres
    },

    /** Opens it in another process, which closes it on SIGTERM. */
    openInChild(options: { user?: User; prefix?: string[]; env?: NodeJS.ProcessEnv; under?: string } = {}) {
      const [command = '', ...args] = [
        ...(options.prefix ?? []),
        process.execPath,
        fixture,
        join(folder, options.under ?? ''),
      ]
      const child = spawn(command, args, {
        ...options.user,
        env: { ...process.env, ...options.env },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      children.push(child)
      let errors = ''
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        errors += text
      })
      const line = once(createInterface(child.stdout), 'line').then(
        ([text]) => JSON.parse(String(text)) as OpenResult,
      )
      // Unlike 'exit', 'close' is emitted after all output has been read.
      const closed = once(child, 'close').then(([code]) => {
        throw new Error(`the opener ended with code ${code}: ${errors}`)
      })
      const result: Promise<OpenResult> = Promise.race([line, closed])
      // Not every test awaits the result.
      result.catch(() => {})
      return {
        result,
        /** The pid of the next server that it starts. Undefined if the opener has ended. */
        async nextServer(known: number[]): Promise<number | undefined> {
          let found: number | undefined
          await until('the opener starts a server', async () => {
            if (child.exitCode !== null || child.signalCode !== null) return true
            const text = await readFile(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8')
            found = text
              .split(' ')
              .map(Number)
              .find((pid) => pid > 0 && !known.includes(pid))
            return found !== undefined
          })
          return found
        },
        async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
          const exit = once(child, 'exit')
          child.kill(signal)
          return (await exit)[0]
        },
      }
    },

    async assertRestartsAfterKill(connection: PostgresConnection) {
      process.kill((await findPostmaster(cluster))!, 'SIGKILL')
      await this.waitUntilReachable(connection)
    },

    waitUntilReachable: (connection: PostgresConnection) =>
      until('the server is reachable', async () => (await query(connection, 'SELECT 1')).length === 1),
  }
}

async function query(connection: PostgresConnection, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(connection)
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end().catch(() => {})
  }
}

/** The processes that have the database open each hold a shared advisory lock. */
async function countUsers(connection: PostgresConnection): Promise<number> {
  const sql = `SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock' AND granted`
  return Number((await query(connection, sql))[0]?.n)
}

async function until(
  description: string,
  isTrue: () => Promise<boolean>,
  limitMs = timeoutMs,
): Promise<void> {
  const deadline = Date.now() + limitMs
  let last: unknown
  const isTrueNow = () =>
    isTrue().catch((error) => {
      last = error
      return false
    })
  while (!(await isTrueNow())) {
    if (Date.now() > deadline)
      throw new Error(`timed out after ${limitMs} ms: ${description}`, { cause: last })
    await delay(20)
  }
}

async function kill(pid: number): Promise<void> {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has already ended.
  }
  await waitUntilGone(pid, 5000)
}

function postgresError(sentence: RegExp) {
  return (error: unknown): true => {
    assert.ok(error instanceof PostgresError, String(error))
    assert.match(error.message, sentence)
    assert.doesNotMatch(error.message, /\n/)
    return true
  }
}

const postgresUser = async () => (await ensureSystemUser('kinora-postgres'))!

/** Runs a script as another user and returns its output. The user may have no access to the checkout. */
async function runAs(user: User, script: string): Promise<string> {
  const args = ['--input-type=module', '--eval', script]
  return (await run(process.execPath, args, { cwd: root, user })).stdout.trim()
}

/** A user with an entry in /etc/passwd, which Postgres needs, other than the one that root's servers run as. */
async function findOrdinaryUser(): Promise<User> {
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'))
  const users = lines.map(([, , uid, gid]) => ({ uid: Number(uid), gid: Number(gid) }))
  const found = users.find(({ uid, gid }) => uid > 0 && gid > 0 && uid !== NOBODY)
  assert.ok(found, 'no ordinary user in /etc/passwd')
  return found
}

/** Copies the package without the library links, as npm installs it without install scripts. */
async function copyPackage(into: string): Promise<string> {
  const root = join(into, 'package')
  await run('cp', ['-a', findPackage(), root])
  const lib = join(root, 'native/lib')
  for (const entry of await readdir(lib, { withFileTypes: true })) {
    if (entry.isSymbolicLink()) await unlink(join(lib, entry.name))
  }
  return root
}
