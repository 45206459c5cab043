import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream, createWriteStream, globSync, readFileSync } from 'node:fs'
import { chown, readdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress, createZstdDecompress, constants as zlib } from 'node:zlib'
import pg from 'pg'
import { ensureSystemUser, nobody } from '../../server/lib/system-user.ts'
import { MEDIA_USER } from '../../server/media/sandbox.ts'
import { type ApiResponse, call, type Kinora, MiB, root, type Target } from './harness.ts'

// A fixture is the data folder of a released version, and what this version answered. `scripts/upgrade-fixture.ts` makes
// one.

export const fixturesFolder = join(root, 'test/upgrades/fixtures')

const chunkBytes = 5 * MiB

/** A film and a box of zeros that players skip, so that there are two chunks and the fixture is small nevertheless. */
export function paddedFile(film: Buffer): { firstChunk: Buffer; range: string } {
  const content = Buffer.alloc(chunkBytes + lastChunk.length)
  film.copy(content)
  content.writeUInt32BE(content.length - film.length, film.length)
  content.write('free', film.length + 4)
  return { firstChunk: content.subarray(0, chunkBytes), range: rangeOf(0, chunkBytes) }
}

export const lastChunk = Buffer.alloc(1000)
export const lastRange = () => rangeOf(chunkBytes, lastChunk.length)
const rangeOf = (from: number, length: number) =>
  `bytes ${from}-${from + length - 1}/${chunkBytes + lastChunk.length}`

export type Fixture = {
  version: string
  /** The hashes of the migrations, by name. */
  migrations: Record<string, string>
  /** The version of the tables of pg-boss. */
  queueSchema: number
  /** The bodies of the answers to requests with the production key, by path. */
  answers: Record<string, unknown>
  /** The hashes of all media of a video, by path. */
  media: Record<string, Record<string, string>>
  /** Other files without a key, by path. */
  files: Record<string, string>
  publicVideo: string
  privateVideo: string
  /** Killed while it was encoded. */
  interruptedVideo: string
  /** Has the first chunk of its file. */
  unfinishedVideo: string
  discardedVideo: string
  sandboxVideo: string
  recordedVideo: string
  webhookId: string
  uploadToken: string
  signingKey: { id: string; privateKey: string }
  /** Besides those that the settings of the test create. */
  apiKey: string
}

/** Nothing expires, however old the fixture is. */
export const fixtureSettings = {
  KINORA_PRODUCTION_KEY: 'test-production-key',
  KINORA_SANDBOX_KEY: 'test-sandbox-key',
  KINORA_ALLOW_PRIVATE_NETWORKS: 'true',
  KINORA_RESTORE_DAYS: '3650',
  KINORA_SANDBOX_HOURS: '0',
  KINORA_ANALYTICS_DAYS: '0',
}

export const listFixtures = (): string[] =>
  globSync('*.json', { cwd: fixturesFolder }).map((name) => basename(name, '.json'))

export const readFixture = (version: string): Fixture =>
  JSON.parse(readFileSync(join(fixturesFolder, `${version}.json`), 'utf8'))

/** Unpacks the data folder of a version. Its files belong to the current user. */
export async function unpackFixture(version: string, folder: string): Promise<void> {
  // Not by a pipe: tar may exit before the end of the stream.
  const archive = join(folder, 'fixture.tar')
  const limit = { params: { [zlib.ZSTD_d_windowLogMax]: windowLog } }
  await pipeline(
    createReadStream(join(fixturesFolder, `${version}.tar.zst`)),
    createZstdDecompress(limit),
    createWriteStream(archive),
  )
  const tar = spawn('tar', ['-xf', archive, '--no-same-owner', '-C', folder], { stdio: 'inherit' })
  assert.equal((await once(tar, 'exit'))[0], 0, 'tar')
  await rm(archive)
  if (process.geteuid!() === 0) await openToMediaUser(join(folder, 'files'))
}

/** If root runs the service, the media user reads the files by their group. */
async function openToMediaUser(files: string): Promise<void> {
  const { gid } = (await ensureSystemUser(MEDIA_USER)) ?? nobody
  for (const path of ['', ...(await readdir(files, { recursive: true }))])
    await chown(join(files, path), 0, gid)
}

/** 128 MiB: the databases of a cluster have mostly the same content. */
const windowLog = 27

/** Leaves out what each start creates. The files are old, as those of a server that was stopped long ago. */
export async function packFixture(version: string, data: string): Promise<void> {
  const fixed = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--mtime=2026-01-01']
  const left = ['services', 'work', 'cache', 'server.log', 'postmaster.opts'].map(
    (name) => `--exclude=${name}`,
  )
  const tar = spawn('tar', ['-c', ...fixed, ...left, '-C', data, '.'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(tar, 'exit')
  const params = {
    [zlib.ZSTD_c_compressionLevel]: 19,
    [zlib.ZSTD_c_windowLog]: windowLog,
    [zlib.ZSTD_c_enableLongDistanceMatching]: 1,
  }
  await pipeline(
    tar.stdout,
    createZstdCompress({ params }),
    createWriteStream(join(fixturesFolder, `${version}.tar.zst`)),
  )
  assert.deepEqual((await ended)[0], 0, 'tar')
}

/** Stops the service, and removes what does not belong to the content of the database. */
export async function shrinkCluster(data: string, stop: () => Promise<unknown>): Promise<void> {
  const cluster = join(data, 'postgres/cluster')
  const client = new pg.Client({ host: cluster, user: 'kinora', database: 'kinora' })
  await client.connect()
  // New segments of the log contain zeros instead of older entries.
  await client.query('alter system set wal_recycle = off')
  await client.query('select pg_reload_conf()')
  await client.query('vacuum full')
  await client.query('alter system reset all')
  for (let i = 0; i < 2; i++) {
    await client.query('select pg_switch_wal()')
    await client.query('checkpoint')
  }
  const { rows } = await client.query<{ name: string }>(
    'select pg_walfile_name(pg_current_wal_lsn()) as name',
  )
  await client.end()
  await stop()
  for (const name of await readdir(join(cluster, 'pg_wal')))
    if (/^[0-9A-F]{24}$/.test(name) && name !== rows[0]!.name) await rm(join(cluster, 'pg_wal', name))
}

/** The same for every process: without its origin, and without the tokens that each answer has. */
const normalize = (text: string, { url }: Target) =>
  text.replaceAll(url, '').replaceAll(/(\btoken[/=])[\w.-]+/g, '$1T')

export async function ask(service: Target, path: string): Promise<unknown> {
  const { status, text } = await call(`${service.url}${path}`, service.key ? { key: service.key } : {})
  assert.equal(status, 200, `${path}: ${text}`)
  return JSON.parse(normalize(text, service))
}

/** What the schema of a checkout is made of. */
export function readSchemaOf(checkout: string): Pick<Fixture, 'migrations' | 'queueSchema'> {
  const folder = join(checkout, 'server/migrations')
  const names = globSync('[0-9]*.ts', { cwd: folder }).sort()
  const { pgboss } = JSON.parse(readFileSync(join(checkout, 'node_modules/pg-boss/package.json'), 'utf8'))
  return {
    migrations: Object.fromEntries(
      names.map((name) => [basename(name, '.ts'), hashOf(readFileSync(join(folder, name)))]),
    ),
    queueSchema: pgboss.schema,
  }
}

export const hashOf = (content: Buffer | Uint8Array) => createHash('sha256').update(content).digest('hex')

export async function load(url: string): Promise<Buffer> {
  const response = await fetch(url)
  const content = Buffer.from(await response.arrayBuffer())
  assert.equal(response.status, 200, `${url}: ${content.subarray(0, 500)}`)
  return content
}

/** Follows a playlist as a player does, and returns the hash of each file in it. */
export async function loadMedia(playlistUrl: string): Promise<Record<string, string>> {
  const hashes: Record<string, string> = {}
  const seen = new Set<string>()
  await follow(playlistUrl)
  return hashes

  async function follow(url: string): Promise<void> {
    if (seen.has(url)) return
    seen.add(url)
    const content = await load(url)
    const path = new URL(url).pathname.replace(/\/token\/[^/]+/, '').replace(/\/session\/[^/]+/, '')
    if (!path.endsWith('.m3u8')) {
      hashes[path] = hashOf(content)
      return
    }
    const lines = content.toString().split('\n')
    const uris = lines.flatMap((line) =>
      line.startsWith('#') ? [...line.matchAll(/URI="([^"]+)"/g)].map(([, uri]) => uri!) : line || [],
    )
    for (const uri of uris) await follow(new URL(uri, url).href)
  }
}

/** The URL of the playlist, with a token if the video is private. */
export async function playlistOf({ url }: Pick<Kinora, 'url'>, videoId: string): Promise<string> {
  const { body, text }: ApiResponse = await call(`${url}/videos/${videoId}`)
  assert.ok(body?.assets?.hls, text)
  return body.assets.hls
}
