import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
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
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { findPackage, prepareBinaries } from '../server/lib/postgres/binaries.ts'
import { ensureCluster } from '../server/lib/postgres/cluster.ts'
import {
  type EmbeddedPostgres,
  openEmbeddedPostgres,
  type PostgresConnection,
  PostgresError,
} from '../server/lib/postgres/open.ts'
import { findPostgresProcesses, findPostmaster, waitUntilGone } from '../server/lib/postgres/process.ts'
import { RunError, run } from '../server/lib/run.ts'
import { ensureSystemUser } from '../server/lib/system-user.ts'

type User = { uid: number; gid: number }
type Told = {
  logged?: string[]
  tookMs?: number
  connection?: PostgresConnection
  name?: string
  message?: string
  cause?: string
}

const isRoot = process.geteuid!() === 0
const rootOnly = { skip: isRoot ? false : 'needs root, to act as several users' }
const root = join(import.meta.dirname, '..')
const fixture = join(import.meta.dirname, 'fixtures/open-postgres.ts')
const NOBODY = 65534
/** Most of the time goes into waiting for processes to start. */
const twoAtOnce = { concurrency: 2 }

let ordinary: User
let base: string
let template: string

before(async () => {
  base = await mkdtemp(join(tmpdir(), 'kinora-postgres-'))
  await chmod(base, 0o711)
  ordinary = await findOrdinaryUser()
  template = join(base, 'template')
  const postgres = await openEmbeddedPostgres({ folder: template, log: quiet })
  await query(postgres.connection, 'CREATE TABLE kept (what text)')
  await postgres.close()
})

after(() => rm(base, { recursive: true, force: true }))

describe('opening', twoAtOnce, () => {
  test('a first open creates a durable, socket-only database, and a later open finds its rows', async (t) => {
    const place = await makePlace(t, { path: 'not there yet/with spaces' })
    const first = await place.open()
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
    assert.deepEqual(await findPostgresProcesses(place.cluster), [])

    const second = await place.open()
    assert.deepEqual(await query(second.connection, 'SELECT what FROM notes'), [{ what: 'ü' }])
  })

  test('the folder is closed to other users, and holds no password', async (t) => {
    const place = await makePlace(t)
    await chmod(place.folder, 0o755)
    const { connection } = await place.open()
    assert.equal((await stat(place.folder)).mode & 0o777, 0o700)
    assert.equal((await stat(place.cluster)).mode & 0o777, 0o700)
    assert.equal(connection.password, undefined)
    const names = await readdir(place.folder, { recursive: true })
    assert.deepEqual(
      names.filter((name) => /password/.test(name)),
      [],
    )
  })

  test('a folder deeper than a socket path may be long works, also when the server is brought back', async (t) => {
    const place = await makePlace(t, { copy: true, path: `${'deep/'.repeat(30)}folder` })
    assert.ok(Buffer.byteLength(place.cluster) > 150)
    const { connection } = await place.open()
    assert.equal((await query(connection, 'SELECT 1 AS one'))[0]?.one, 1)
    process.kill((await findPostmaster(place.cluster))!, 'SIGKILL')
    await place.answers(connection)
  })

  test('two folders are opened at once by one process, each with a server of its own', async (t) => {
    const places = [await makePlace(t, { copy: true }), await makePlace(t, { copy: true })]
    const [one, two] = await Promise.all(places.map((place) => place.open()))
    await query(one!.connection, `INSERT INTO kept VALUES ('one')`)
    assert.deepEqual(await query(two!.connection, 'SELECT * FROM kept'), [])
  })

  test('two processes that open a fresh folder in the same instant share one server, and the last stops it', async (t) => {
    const place = await makePlace(t)
    const [one, two] = [place.openElsewhere(), place.openElsewhere()]
    const told = await Promise.all([one.told, two.told])
    assert.deepEqual(told[0].connection, told[1].connection)
    const pid = await findPostmaster(place.cluster)
    assert.ok(pid)
    assert.deepEqual(await place.leftovers(), [])

    assert.equal(await one.end('SIGTERM'), 0)
    await query(told[1].connection!, 'SELECT 1')
    assert.equal(await findPostmaster(place.cluster), pid)
    assert.equal(await two.end('SIGTERM'), 0)
    assert.deepEqual(await findPostgresProcesses(place.cluster), [])
  })

  test('who comes while the last user leaves gets a server', async (t) => {
    const place = await makePlace(t, { copy: true })
    let last = await place.open()
    for (let round = 0; round < 6; round++) {
      const [next] = await Promise.all([delay(round * 4).then(() => place.open()), last.close()])
      await query(next.connection, 'SELECT 1')
      last = next
    }
  })

  test('a backup that was copied back with the wrong owner and open to others is put right', async (t) => {
    const place = await makePlace(t, { copy: true })
    if (isRoot) await run('chown', ['-R', '0:0', place.folder])
    await chmod(place.cluster, 0o755)
    const { connection } = await place.open()
    assert.deepEqual(await query(connection, 'SELECT * FROM kept'), [])
    assert.equal((await stat(place.cluster)).mode & 0o777, 0o700)
  })

  test('the log of the server stays small', async (t) => {
    const place = await makePlace(t, { copy: true })
    const log = join(place.folder, 'server.log')
    await writeFile(log, 'x'.repeat(9_000_000))
    await place.open()
    const isSmall = async () => (await stat(log)).size < 100_000
    assert.ok(await isSmall())
    assert.equal((await stat(`${log}.old`)).size, 9_000_000)
    await appendFile(log, 'x'.repeat(9_000_000))
    await until('the log is cut', isSmall)
  })
})

describe('users', twoAtOnce, () => {
  test(
    'root runs the server as a user of its own, without capabilities, inside folders that only root may enter',
    rootOnly,
    async (t) => {
      const place = await makePlace(t, { path: 'closed/postgres' })
      await chmod(join(place.folder, '..'), 0o700)
      const { connection } = await place.open()
      const status = await readFile(`/proc/${await findPostmaster(place.cluster)}/status`, 'utf8')
      assert.match(status, new RegExp(`^Uid:(\\s+${(await postgresUser()).uid}){4}$`, 'm'))
      assert.match(status, /^Groups:\s*$/m)
      for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapAmb'])
        assert.match(status, new RegExp(`^${set}:\\s+0+$`, 'm'))
      // Loads a library from the package.
      await query(connection, 'CREATE EXTENSION pg_trgm')
      await place.reopens(connection)
    },
  )

  test('a process that runs as the user of the server does not get in', rootOnly, async (t) => {
    const place = await makePlace(t, { copy: true })
    // So that it gets as far as the socket.
    for (const path of [join(place.folder, '..'), place.folder]) await chmod(path, 0o711)
    const { connection } = await place.open()
    await chmod(place.folder, 0o711)
    const code = await runAs(
      await postgresUser(),
      `import pg from 'pg'
       const client = new pg.Client(${JSON.stringify(connection)})
       console.log(await client.connect().then(() => 'in', (error) => error.code))`,
    )
    assert.equal(code, '28000')
  })

  test(
    'a cluster of an older version, which belongs to nobody and has a password, is taken over',
    rootOnly,
    async (t) => {
      const place = await makePlace(t, { copy: true })
      await run('chown', ['-R', `${NOBODY}:${NOBODY}`, place.cluster])
      await chmod(place.folder, 0o711)
      await writeFile(join(place.cluster, 'kinora.password'), 'old', { mode: 0o600 })
      await writeFile(join(place.cluster, 'pg_hba.conf'), 'local all all scram-sha-256\n')
      const { connection } = await place.open()
      assert.deepEqual(await query(connection, 'SELECT * FROM kept'), [])
      const { uid } = await postgresUser()
      for (const name of await readdir(place.cluster))
        if (name !== 'postmaster.pid') assert.equal((await stat(join(place.cluster, name))).uid, uid, name)
      await assert.rejects(stat(join(place.cluster, 'kinora.password')), { code: 'ENOENT' })
    },
  )

  test('where no user can be created the server runs as nobody, and the log says so', rootOnly, async (t) => {
    const place = await makePlace(t)
    const users = join(base, 'passwd')
    const known = (await readFile('/etc/passwd', 'utf8')).split('\n')
    await writeFile(users, known.filter((line) => !line.startsWith('kinora-')).join('\n'))
    // A file that is mounted cannot be replaced, which is how users are added.
    const mount = `mount --bind ${users} /etc/passwd && exec "$@"`
    const isAllowed = await run('unshare', ['--mount', 'sh', '-c', mount, 'sh', 'true']).then(
      () => true,
      () => false,
    )
    if (!isAllowed) return t.skip('this root may not mount')
    const opener = place.openElsewhere({ prefix: ['unshare', '--mount', 'sh', '-c', mount, 'sh'] })
    const { connection, message, logged } = await opener.told
    assert.ok(connection, message)
    assert.match(String(logged), /Postgres runs as the user nobody/)
    assert.equal((await stat(`/proc/${await findPostmaster(place.cluster)}`)).uid, NOBODY)
  })

  test('an ordinary user opens, closes and opens again', rootOnly, async (t) => {
    const place = await makePlace(t, { owner: ordinary })
    for (const round of ['first', 'second']) {
      const opener = place.openElsewhere({ user: ordinary })
      const { connection, message } = await opener.told
      assert.ok(connection, `${round}: ${message}`)
      assert.equal((await stat(`/proc/${await findPostmaster(place.cluster)}`)).uid, ordinary.uid)
      assert.equal(await opener.end('SIGTERM'), 0)
    }
  })

  test('root opens the data of an ordinary user and leaves it to that user', rootOnly, async (t) => {
    const place = await makePlace(t, { owner: ordinary, copy: true })
    const root = place.openElsewhere()
    const { connection } = await root.told
    await query(connection!, 'SELECT 1')
    const pid = await findPostmaster(place.cluster)
    await root.end('SIGKILL')

    const user = place.openElsewhere({ user: ordinary })
    assert.ok((await user.told).connection)
    assert.equal(await findPostmaster(place.cluster), pid)
    assert.equal(await user.end('SIGTERM'), 0)
    assert.deepEqual(await findPostgresProcesses(place.cluster), [])

    const again = place.openElsewhere({ user: ordinary })
    const told = await again.told
    assert.ok(told.connection, told.message)
  })

  test('an ordinary user is told that the data was made by root', rootOnly, async (t) => {
    const place = await makePlace(t, { copy: true })
    const told = await place.openElsewhere({ user: ordinary }).told
    assert.match(told.message ?? '', /^The database in .* was made by root and this is uid \d+: .*chown -R/)
  })

  test('a user without an entry in /etc/passwd is told that Postgres needs one', rootOnly, async (t) => {
    const stranger = { uid: 54321, gid: 54321 }
    const place = await makePlace(t, { owner: stranger })
    const told = await place.openElsewhere({ user: stranger }).told
    assert.match(told.message ?? '', /^Postgres needs a user with id 54321 in \/etc\/passwd/)
    assert.deepEqual(await place.leftovers(), [])
  })
})

describe('being killed', twoAtOnce, () => {
  test('a server whose opener was killed is used by the next, whose close stops it', async (t) => {
    const place = await makePlace(t, { copy: true })
    const opener = place.openElsewhere()
    await opener.told
    const pid = await findPostmaster(place.cluster)
    await opener.end('SIGKILL')

    const next = await place.open()
    assert.equal(await findPostmaster(place.cluster), pid)
    await next.close()
    assert.deepEqual(await findPostgresProcesses(place.cluster), [])
  })

  test('a row that was acknowledged is there after the opener and every Postgres process were killed', async (t) => {
    const place = await makePlace(t, { copy: true })
    const opener = place.openElsewhere()
    const { connection } = await opener.told
    await query(connection!, `INSERT INTO kept VALUES ('acknowledged')`)
    const all = await findPostgresProcesses(place.cluster)
    assert.ok(all.length > 1)
    await Promise.all([opener.end('SIGKILL'), ...all.map(kill)])

    const next = await place.open()
    assert.deepEqual(await query(next.connection, 'SELECT what FROM kept'), [{ what: 'acknowledged' }])
  })

  test('a kill while the cluster is being created leaves nothing half done', async (t) => {
    const place = await makePlace(t)
    const opener = place.openElsewhere()
    await until('initdb is at work', async () => (await place.leftovers()).length > 1)
    await opener.end('SIGKILL')

    const { connection } = await place.open()
    await query(connection, 'SELECT 1')
    assert.deepEqual(await place.leftovers(), [])
  })

  test('a server that is killed while it starts is started again', async (t) => {
    const place = await makePlace(t, { copy: true })
    const opener = place.openElsewhere()
    const killed: number[] = []
    for (let i = 0; i < 2; i++) {
      const pid = await opener.childOtherThan(killed)
      assert.ok(pid)
      process.kill(pid, 'SIGKILL')
      killed.push(pid)
    }
    const { connection, message } = await opener.told
    assert.ok(connection, message)
    await place.answers(connection)
  })

  test('a server that is killed on every start is given up, with a sentence', async (t) => {
    const place = await makePlace(t, { copy: true })
    const opener = place.openElsewhere()
    const killed: number[] = []
    for (;;) {
      const pid = await opener.childOtherThan(killed)
      if (pid === undefined) break
      killed.push(pid)
      try {
        process.kill(pid, 'SIGKILL')
      } catch (error) {
        // It has ended meanwhile.
        assert.equal((error as NodeJS.ErrnoException).code, 'ESRCH')
      }
    }
    assert.match(
      (await opener.told).message ?? '',
      /^Postgres in .* was killed \d+ times while it was starting .*SIGKILL/,
    )
  })

  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    test(`a postmaster ended by ${signal} is brought back for all who have it open`, async (t) => {
      const place = await makePlace(t, { copy: true })
      const other = place.openElsewhere()
      const [here, there] = [await place.open(), await other.told]
      const pid = (await findPostmaster(place.cluster))!
      process.kill(pid, signal)
      await until('another server answers', async () => {
        const now = await findPostmaster(place.cluster)
        return now !== undefined && now !== pid
      })
      await place.answers(here.connection)
      assert.match(place.logged(), /bringing it back/)
      await until('both say that they use it', async () => (await users(here.connection)) === 2)

      assert.equal(await other.end('SIGTERM'), 0)
      await query(here.connection, 'SELECT 1')
      await here.close()
      assert.deepEqual(await findPostgresProcesses(place.cluster), [])
      assert.equal(there.connection?.host, here.connection.host)
    })
  }

  test('a backend that is busy when its postmaster is killed does not keep the server from coming back', async (t) => {
    const place = await makePlace(t, { copy: true })
    const { connection } = await place.open()
    const endless = query(connection, 'SELECT count(*) FROM generate_series(1, 1e12)').catch(() => {})
    await until('the endless query runs', async () => {
      const [row] = await query(
        connection,
        `SELECT count(*)::int AS n FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%1e12%'`,
      )
      return Number(row?.n) > 1
    })
    process.kill((await findPostmaster(place.cluster))!, 'SIGKILL')
    await endless
    await place.answers(connection)
  })

  test('closing while the server is being brought back leaves nothing running, however often it is called', async (t) => {
    const place = await makePlace(t, { copy: true })
    for (const waitMs of [0, 20, 60]) {
      const postgres = await place.open()
      const pid = (await findPostmaster(place.cluster))!
      process.kill(pid, 'SIGKILL')
      await waitUntilGone(pid, 5000)
      await delay(waitMs)
      await Promise.all([postgres.close(), postgres.close()])
      await postgres.close()
      await until('no process is left', async () => (await findPostgresProcesses(place.cluster)).length === 0)
    }
  })

  test('a left-over pid file that names a process of the same user does not keep the server from starting', async (t) => {
    const place = await makePlace(t, { copy: true })
    await (await place.open()).close()
    const user = isRoot ? await postgresUser() : {}
    const stranger = spawn('sleep', ['60'], { stdio: 'ignore', ...user })
    t.after(() => stranger.kill('SIGKILL'))
    const stale = `${stranger.pid}\n${place.cluster}\n1700000000\n5432\n.\n\n  1234567         9\nready   \n`
    await writeFile(join(place.cluster, 'postmaster.pid'), stale)
    await writeFile(join(place.cluster, '.s.PGSQL.5432.lock'), stale)
    const { connection } = await place.open()
    await query(connection, 'SELECT 1')
    assert.equal(stranger.exitCode, null)
  })

  test('a pid file that a power cut left empty does not keep the server from starting', async (t) => {
    const place = await makePlace(t, { copy: true })
    await writeFile(join(place.cluster, 'postmaster.pid'), '')
    await writeFile(join(place.cluster, '.s.PGSQL.5432.lock'), '')
    await query((await place.open()).connection, 'SELECT 1')
  })
})

describe('problems are told in one sentence', twoAtOnce, () => {
  test('a file is where the folder should be', async (t) => {
    const place = await makePlace(t)
    await writeFile(join(place.folder, 'file'), '')
    await assert.rejects(
      openEmbeddedPostgres({ folder: join(place.folder, 'file/postgres'), log: quiet }),
      problem(/^The database folder .* cannot be used because a file is in its way/),
    )
  })

  test('the folder may not be written', async (t) => {
    const place = await makePlace(t)
    await chmod(place.folder, 0o555)
    const opener = place.openElsewhere({ user: isRoot ? ordinary : undefined, under: 'postgres' })
    assert.match((await opener.told).message ?? '', /^The database folder .* cannot be created or written/)
  })

  test('the disk is full, while the cluster is created and while the server starts', rootOnly, async (t) => {
    const place = await makePlace(t)
    const disk = join(place.folder, 'disk')
    await mkdir(disk)
    try {
      await run('mount', ['-t', 'tmpfs', '-o', 'size=20m,mode=755', 'tmpfs', disk])
    } catch (error) {
      return t.skip(`this root may not mount a tmpfs: ${(error as Error).message}`)
    }
    try {
      const full = problem(/^The disk that holds .* is full/)
      const folder = join(disk, 'postgres')
      await assert.rejects(openEmbeddedPostgres({ folder, log: quiet }), full)
      assert.deepEqual(await readdir(folder), [])

      await run('mount', ['-o', 'remount,size=80m', disk])
      await (await openEmbeddedPostgres({ folder, log: quiet })).close()
      await run('dd', ['if=/dev/zero', `of=${join(disk, 'filler')}`, 'bs=64k']).catch(() => {})
      await assert.rejects(openEmbeddedPostgres({ folder, log: quiet }), full)

      await unlink(join(disk, 'filler'))
      await (await openEmbeddedPostgres({ folder, log: quiet })).close()
    } finally {
      await run('umount', [disk])
    }
  })

  test('the cluster was made by another version of Postgres', async (t) => {
    const place = await makePlace(t, { copy: true })
    await writeFile(join(place.cluster, 'PG_VERSION'), '17\n')
    await assert.rejects(
      place.open(),
      problem(/^The database in .* was made by Postgres 17 .* brings Postgres 18/),
    )
  })

  test('the folder of the cluster holds something else', async (t) => {
    const place = await makePlace(t)
    await mkdir(place.cluster)
    await writeFile(join(place.cluster, 'holiday.jpg'), '')
    await assert.rejects(place.open(), problem(/is not a database of Postgres/))
  })

  test('the server does not start, with its last words as the cause', async (t) => {
    const place = await makePlace(t, { copy: true })
    await writeFile(join(place.cluster, 'postgresql.auto.conf'), `shared_buffers = 'lots'\n`)
    await assert.rejects(place.open(), (error: Error) => {
      problem(/^Postgres did not start in .*: .*contains errors/)(error)
      assert.match(String(error.cause), /invalid value for parameter "shared_buffers": "lots"/)
      return true
    })
  })

  test('there is no Postgres for this machine', () => {
    const there = problem(/^There is no embedded Postgres for sunos-sparc: set KINORA_DATABASE_URL/)
    assert.throws(() => findPackage('sunos-sparc'), there)
    const other = process.arch === 'x64' ? 'linux-arm64' : 'linux-x64'
    assert.throws(
      () => findPackage(other),
      problem(/^The package .* is not installed: .*KINORA_DATABASE_URL/),
    )
  })

  test('a library is missing', async (t) => {
    const place = await makePlace(t)
    const root = await copyPackage(place.folder)
    for (const name of await readdir(join(root, 'native/lib'))) {
      if (name.startsWith('libicuuc')) await unlink(join(root, 'native/lib', name))
    }
    const binaries = await prepareBinaries(root, place.folder)
    await assert.rejects(
      ensureCluster(place.folder, binaries, new AbortController().signal),
      problem(/^Postgres needs the library libicuuc\.so\.\d+: install it/),
    )
  })
})

describe('the package', twoAtOnce, () => {
  test('library links and permissions that npm left out are put in, by two at once', async (t) => {
    const place = await makePlace(t)
    const root = await copyPackage(place.folder)
    const programs = ['initdb', 'postgres'].map((name) => join(root, 'native/bin', name))
    for (const program of programs) await chmod(program, 0o644)
    const [binaries] = await Promise.all([
      prepareBinaries(root, place.folder),
      prepareBinaries(root, place.folder),
    ])
    assert.equal(binaries.env.LD_LIBRARY_PATH, undefined)
    assert.equal(await readlink(join(root, 'native/lib/libpq.so.5')), 'libpq.so.5.18')
    for (const program of programs) await run(program, ['--version'], { env: binaries.env })
  })

  test('a package that may not be written gets its library links in our own folder', async (t) => {
    const place = await makePlace(t, { owner: isRoot ? ordinary : undefined })
    const copies = await makePlace(t)
    const root = await copyPackage(copies.folder)
    await chmod(join(root, 'native/lib'), 0o555)
    const script = `
      import { prepareBinaries } from ${JSON.stringify(join(import.meta.dirname, '../server/lib/postgres/binaries.ts'))}
      import { run } from ${JSON.stringify(join(import.meta.dirname, '../server/lib/run.ts'))}
      const binaries = await prepareBinaries(${JSON.stringify(root)}, ${JSON.stringify(place.folder)})
      console.log((await run(binaries.postgres, ['--version'], { env: binaries.env })).stdout)
      console.log((await run(binaries.initdb, ['--version'], { env: binaries.env })).stdout)`
    const become = isRoot
      ? ['setpriv', `--reuid=${ordinary.uid}`, `--regid=${ordinary.gid}`, '--clear-groups']
      : []
    const [command = '', ...args] = [...become, process.execPath, '--input-type=module', '--eval', script]
    // Writable again at once, or an ordinary user could not remove it.
    const { stdout } = await run(command, args).finally(() => chmod(join(root, 'native/lib'), 0o755))
    assert.match(stdout, /PostgreSQL\) 18.*PostgreSQL\) 18/s)
    assert.ok((await readdir(join(place.folder, 'lib'))).includes('libpq.so.5'))
    assert.ok(!(await readdir(join(root, 'native/lib'))).includes('libpq.so.5'))
  })
})

describe('the package of root', () => {
  test('is copied for a user who cannot reach it', rootOnly, async (t) => {
    const place = await makePlace(t)
    const closed = join(place.folder, 'closed')
    await mkdir(closed, { mode: 0o700 })
    await chmod(place.folder, 0o711)
    const root = await copyPackage(closed)
    // As npm leaves it for a root whose umask is 077.
    await run('chmod', ['-R', 'go=', root])
    const shared = join(place.folder, 'shared')
    const user = await postgresUser()
    const [binaries] = await Promise.all([1, 2].map(() => prepareBinaries(root, place.folder, user, shared)))
    assert.ok(binaries)
    assert.ok(binaries.postgres.startsWith(`${shared}/`), binaries.postgres)
    assert.deepEqual((await readdir(shared)).length, 1)
    await ensureCluster(place.folder, binaries, new AbortController().signal)
    assert.equal((await stat(place.cluster)).uid, user.uid)
  })

  test('is not taken from a folder that others can change', rootOnly, async (t) => {
    const place = await makePlace(t)
    const closed = join(place.folder, 'closed')
    await mkdir(closed, { mode: 0o700 })
    const root = await copyPackage(closed)
    const shared = join(place.folder, 'shared')
    await mkdir(shared)
    await chmod(shared, 0o777)
    await assert.rejects(
      prepareBinaries(root, place.folder, await postgresUser(), shared),
      problem(/could not be copied .* can be changed by other users than root/),
    )
  })
})

describe('run', () => {
  test('gives what the command wrote', async () => {
    assert.deepEqual(await run('sh', ['-c', 'echo out; echo err >&2']), { stdout: 'out\n', stderr: 'err\n' })
  })

  test('tells exit code, a command that can be pasted, and the end of a long stderr', async () => {
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

  test('tells the signal that ended the command', async () => {
    await assert.rejects(run('sh', ['-c', 'kill -SEGV $$']), { signal: 'SIGSEGV', exitCode: null })
  })

  test('tells of a command that is not there', async () => {
    await assert.rejects(run('/nowhere/program', ['x y']), {
      name: 'RunError',
      message: "could not be started: /nowhere/program 'x y'",
    })
  })

  test('an abort ends the command and what it started before the promise settles', async (t) => {
    const place = await makePlace(t)
    const pidFile = join(place.folder, 'pid')
    const abort = new AbortController()
    const script = `trap '' TERM; sleep 60 & echo $! > "${pidFile}.new"; mv "${pidFile}.new" "${pidFile}"; wait`
    const running = run('sh', ['-c', script], { signal: abort.signal })
    const ended = assert.rejects(running, { name: 'RunError', signal: 'SIGKILL', cause: 'enough' })
    await until('the child runs', async () => (await readdir(place.folder)).includes('pid'))
    abort.abort('enough')
    await ended
    assert.ok(await waitUntilGone(Number(await readFile(pidFile, 'utf8')), 2000))
  })

  test('a command inherits nothing of the environment but where programs are', async () => {
    process.env.KINORA_PRODUCTION_KEY = 'secret'
    try {
      const { stdout } = await run('env', [])
      assert.match(stdout, /^PATH=/m)
      assert.doesNotMatch(stdout, /secret|^(HOME|USER|NODE_|npm_|KINORA_|AWS_)/m)
    } finally {
      delete process.env.KINORA_PRODUCTION_KEY
    }
  })

  test('a command that writes too much is ended', async () => {
    await assert.rejects(
      run('yes', [], { stdoutLimitBytes: 100_000 }),
      /^RunError: wrote more than 100000 bytes: yes/,
    )
  })
})

const quiet = { info() {}, warn() {}, error() {} }

/** A folder for one test, and whatever runs in it: ended and removed with the test. */
async function makePlace(t: TestContext, wish: { copy?: boolean; owner?: User; path?: string } = {}) {
  const top = await mkdtemp(join(base, 'place-'))
  await chmod(top, 0o711)
  const folder = join(top, wish.path ?? 'postgres')
  const cluster = join(folder, 'cluster')
  if (wish.copy) {
    await mkdir(join(folder, '..'), { recursive: true })
    await run('cp', ['-a', template, folder])
  } else if (wish.path) await mkdir(join(folder, '..'), { recursive: true })
  else await mkdir(folder, { mode: 0o711 })
  if (wish.owner && wish.copy) {
    await run('chown', ['-R', `${wish.owner.uid}:${wish.owner.gid}`, folder])
  } else if (wish.owner) await chown(folder, wish.owner.uid, wish.owner.gid)

  const opened: EmbeddedPostgres[] = []
  const children: ChildProcess[] = []
  const lines: string[] = []
  const note = (fields: object, message: string) => void lines.push(`${message} ${JSON.stringify(fields)}`)

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
    leftovers: async () => (await readdir(folder)).filter((name) => /^(cluster\.new|opening)\./.test(name)),

    async open(): Promise<EmbeddedPostgres> {
      const postgres = await openEmbeddedPostgres({ folder, log: { info: note, warn: note, error: note } })
      opened.push(postgres)
      return postgres
    },

    /** In another process, which closes on SIGTERM. */
    openElsewhere(how: { user?: User; prefix?: string[]; env?: NodeJS.ProcessEnv; under?: string } = {}) {
      const [command = '', ...args] = [
        ...(how.prefix ?? []),
        process.execPath,
        fixture,
        join(folder, how.under ?? ''),
      ]
      const child = spawn(command, args, {
        ...how.user,
        env: { ...process.env, ...how.env },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      children.push(child)
      let errors = ''
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        errors += text
      })
      const line = once(createInterface(child.stdout), 'line').then(
        ([text]) => JSON.parse(String(text)) as Told,
      )
      const silence = once(child, 'exit').then(async ([code]) => {
        // What it said last may still be on its way.
        const last = await Promise.race([line, delay(1000)])
        return last ?? Promise.reject(new Error(`the opener ended with code ${code}: ${errors}`))
      })
      const told = Promise.race([line, silence])
      // Not every test asks.
      told.catch(() => {})
      return {
        told,
        /** The server that it starts next. Undefined when it has ended instead. */
        async childOtherThan(known: number[]): Promise<number | undefined> {
          let found: number | undefined
          await until('the opener starts a server', async () => {
            if (child.exitCode !== null) return true
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

    /** After the server was killed. */
    async reopens(connection: PostgresConnection) {
      process.kill((await findPostmaster(cluster))!, 'SIGKILL')
      await this.answers(connection)
    },

    answers: (connection: PostgresConnection) =>
      until('the server answers', async () => (await query(connection, 'SELECT 1')).length === 1),
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

async function users(connection: PostgresConnection): Promise<number> {
  const sql = `SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock' AND granted`
  return Number((await query(connection, sql))[0]?.n)
}

async function until(what: string, isTrue: () => Promise<boolean>, limitMs = 15_000): Promise<void> {
  const deadline = Date.now() + limitMs
  let last: unknown
  const isTrueNow = () =>
    isTrue().catch((error) => {
      last = error
      return false
    })
  while (!(await isTrueNow())) {
    if (Date.now() > deadline) throw new Error(`waited ${limitMs} ms in vain: ${what}`, { cause: last })
    await delay(20)
  }
}

async function kill(pid: number): Promise<void> {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Gone already.
  }
  await waitUntilGone(pid, 5000)
}

function problem(sentence: RegExp) {
  return (error: unknown): true => {
    assert.ok(error instanceof PostgresError, String(error))
    assert.match(error.message, sentence)
    assert.doesNotMatch(error.message, /\n/)
    return true
  }
}

const postgresUser = async () => (await ensureSystemUser('kinora-postgres'))!

/** What a script prints that runs as another user, who may not be allowed into the checkout. */
async function runAs(user: User, script: string): Promise<string> {
  const args = ['--input-type=module', '--eval', script]
  return (await run(process.execPath, args, { cwd: root, user })).stdout.trim()
}

/** With an entry in /etc/passwd, which Postgres wants, and not the one whom root's servers run as. */
async function findOrdinaryUser(): Promise<User> {
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'))
  const users = lines.map(([, , uid, gid]) => ({ uid: Number(uid), gid: Number(gid) }))
  const found = users.find(({ uid, gid }) => uid > 0 && gid > 0 && uid !== NOBODY)
  assert.ok(found, 'no ordinary user in /etc/passwd')
  return found
}

/** As npm leaves it when install scripts are not run: without the links. */
async function copyPackage(into: string): Promise<string> {
  const root = join(into, 'package')
  await run('cp', ['-a', findPackage(), root])
  const lib = join(root, 'native/lib')
  for (const entry of await readdir(lib, { withFileTypes: true })) {
    if (entry.isSymbolicLink()) await unlink(join(lib, entry.name))
  }
  return root
}
