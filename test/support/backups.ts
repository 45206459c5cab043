import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createDatabase, listFiles, runKinora, type Service, temporaryFolder } from './harness.ts'
import type { S3Store } from './s3-store.ts'

// `kinora backup`, `kinora backup verify` and `kinora restore`, with or without a service that runs.

/** What the commands back up or restore. */
export type Place = Pick<Service, 'database' | 'data'>

type Cleanup = { after(end: () => unknown): void }

/** An empty installation. */
export const newPlace = async (t: Cleanup): Promise<Place> => ({
  database: await createDatabase(t, { isEmpty: true }),
  data: await temporaryFolder(t),
})

/** A service that does not run and has these files in its store. Most backups do not need more. */
export async function placeWithFiles(t: Cleanup, files: Record<string, number>): Promise<Place> {
  const place = { database: await createDatabase(t), data: await temporaryFolder(t) }
  await addFiles(place, files)
  return place
}

/** Stores random files of these sizes. */
export async function addFiles({ data }: Place, files: Record<string, number>): Promise<void> {
  for (const [key, size] of Object.entries(files)) {
    const path = join(data, 'files', key)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, randomBytes(size))
  }
}

export const run = (place: Place, args: string[], env: Record<string, string> = {}) =>
  runKinora(args, { KINORA_DATABASE_URL: place.database, KINORA_DATA_DIR: place.data, ...env })

/** The settings of a store that is not that of the service. */
export const backupSettings = ({ endpoint, settings }: S3Store) => ({
  KINORA_BACKUP_S3_ENDPOINT: endpoint,
  KINORA_BACKUP_S3_ACCESS_KEY: settings.accessKey,
  KINORA_BACKUP_S3_SECRET_KEY: settings.secretKey,
})

/** Returns what the command prints with `--json`. */
export async function succeed(place: Place, args: string[], env?: Record<string, string>) {
  const { code, stdout, stderr } = await run(place, [...args, '--json'], env)
  assert.equal(code, 0, stderr + stdout)
  return JSON.parse(stdout.trim().split('\n').at(-1)!)
}

/** Expects a sentence without a stack. */
export async function fail(place: Place, args: string[], expected: RegExp, env?: Record<string, string>) {
  const { code, stdout, stderr } = await run(place, args, env)
  assert.match(stderr + stdout, expected)
  assert.equal(code, 1, stdout)
  assert.doesNotMatch(stderr, /\n\s+at /)
}

/** The contents of all files of the store that belong to videos, broadcasts and watermarks. */
export async function readStore(place: Place): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const path of await listFiles(place))
    if (/\/files\/(videos|live|watermarks)\//.test(path))
      found[path.slice(place.data.length)] = (await readFile(path)).toString('base64')
  return found
}

/** Everything that players load: the paths and contents of all segments of all playlists. */
export async function loadAll(url: string, videoId: string): Promise<Map<string, string>> {
  const loaded = new Map<string, string>()
  const load = async (path: string) => {
    const response = await fetch(new URL(path, `${url}/vod/${videoId}/`))
    assert.equal(response.status, 200, path)
    const bytes = Buffer.from(await response.arrayBuffer())
    loaded.set(path.replace(/\?.*$/, ''), bytes.toString('latin1'))
    if (!path.includes('.m3u8')) return
    const folder = path.slice(0, path.lastIndexOf('/') + 1)
    for (const [, uri, line] of bytes.toString().matchAll(/URI="([^"]+)"|^([^#\n]+)$/gm))
      await load(`${folder}${uri ?? line}`)
  }
  await load('hls/manifest.m3u8')
  return loaded
}
