import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { root } from '../support/harness.ts'

// Import rules of docs/architecture.md: a file imports only from lower ranks, and slices of the same rank communicate
// by a queue or an event. There are no exceptions: a slice that adds to something lower, such as the list of tables,
// does so by declaration merging, which counts as an import.

/** From the highest rank to the lowest. Names of one row do not import each other. */
const ranks = readRanks(await readFile(join(root, 'docs/architecture.md'), 'utf8'))

function readRanks(page: string): string[][] {
  const [, list = ''] = /^```\n(cli\n.*?)^```$/ms.exec(page) ?? []
  return list
    .trim()
    .split('\n')
    .map((row) => row.split(', '))
}

/** The rooms of slices, from the highest to the lowest: the way of a packet to viewers, and of an upload to its file. */
const rooms: Record<string, string[][]> = {
  live: [
    ['ingest'],
    ['studio'],
    ['output', 'hls', 'page'],
    ['frames'],
    ['state'],
    ['media', 'rtmp', 'webrtc'],
  ],
  uploads: [['chunks', 'tus', 'fetch'], ['tokens', 'early'], ['source']],
  encoding: [['early'], ['plan', 'finish'], ['chunks'], ['source', 'renditions']],
  transcripts: [['recognition', 'summaries']],
}
const roomOf = (file: string) => /^server\/[\w-]+\/([\w-]+)\//.exec(file)?.[1]

/** The imported files by importing file, as paths from the root of the repository. */
type Imports = Map<string, string[]>

/** `server/videos/store.ts` belongs to `videos`, `server/app.ts` to `app`. */
const sliceOf = (file: string) => file.split('/')[1]!.replace(/\.ts$/, '')
const rankOf = (slice: string) => ranks.findIndex((row) => row.includes(slice))

function findViolations(imports: Imports): string[] {
  const violations: string[] = []
  for (const [file, targets] of imports) {
    const isServer = file.startsWith('server/')
    if (isServer && rankOf(sliceOf(file)) < 0) violations.push(`${file} belongs to no known slice`)
    for (const target of targets) {
      const violation = isServer
        ? (findViolation(sliceOf(file), target) ?? findRoomViolation(file, target))
        : findWebViolation(file, target)
      if (violation) violations.push(`${file} imports ${target}: ${violation}`)
    }
  }
  return [...violations, ...findCycles(imports)]
}

function findViolation(slice: string, target: string): string | undefined {
  if (!target.startsWith('server/')) return 'the server imports nothing from outside server/'
  const other = sliceOf(target)
  if (other === slice) return undefined
  if (slice === 'migrations') return 'migrations import nothing from other folders'
  if (other === 'migrations') return slice === 'database' ? undefined : 'only database.ts runs migrations'
  if (rankOf(other) < rankOf(slice)) return `${other} ranks above ${slice}`
  if (rankOf(other) === rankOf(slice)) return `${other} has the same rank as ${slice}`
  return undefined
}

function findRoomViolation(file: string, target: string): string | undefined {
  const ranked = rooms[sliceOf(file)]
  const [room, other] = [roomOf(file), roomOf(target)]
  if (!ranked || sliceOf(target) !== sliceOf(file)) return undefined
  if (room === undefined || other === undefined || room === other) return undefined
  const rank = (name: string) => ranked.findIndex((row) => row.includes(name))
  if (rank(room) < 0) return `${room} is not a known room`
  return rank(other) > rank(room) ? undefined : `${other} is not below ${room}`
}

const findWebViolation = (file: string, target: string) =>
  file.startsWith('web/') && !target.startsWith('web/') ? 'web/ imports nothing from the server' : undefined

function findCycles(imports: Imports): string[] {
  const cycles: string[] = []
  const done = new Set<string>()
  const walk = (file: string, path: string[]) => {
    const start = path.indexOf(file)
    if (start >= 0) cycles.push(`a cycle: ${[...path.slice(start), file].join(' > ')}`)
    if (start >= 0 || done.has(file)) return
    for (const target of imports.get(file) ?? []) walk(target, [...path, file])
    done.add(file)
  }
  for (const file of imports.keys()) walk(file, [])
  return cycles
}

/** The relative targets of all imports and exports, including types, and of all merged declarations. */
function readTargets(file: string, source: string): string[] {
  const statement =
    /^\s*(?:import|export|declare module)\s(?:[^'"`;]*?\sfrom\s+)?['"](\.[^'"]+)['"]|\bimport\(\s*['"](\.[^'"]+)['"]/gm
  return [...source.matchAll(statement)].map(([, fixed, dynamic]) =>
    // Vite's `?inline` is not part of the path.
    normalize(join(dirname(file), (fixed ?? dynamic!).split('?')[0]!)),
  )
}

async function readImports(): Promise<Imports> {
  const imports: Imports = new Map()
  for (const folder of ['server', 'web']) {
    const files = await readdir(join(root, folder), { recursive: true }).catch(() => [])
    const isSource = (name: string) => /\.(m?[jt]sx?|css)$/.test(name) && !/\.test\.ts$|\bdist\b/.test(name)
    for (const name of files.filter(isSource)) {
      const file = join(folder, name)
      imports.set(file, readTargets(file, await readFile(join(root, file), 'utf8')))
    }
  }
  return imports
}

test('imports go to lower ranks only and have no cycles', async () => {
  const imports = await readImports()
  assert.ok(imports.size > 30)
  assert.ok(ranks.length > 10, 'the ranks are not read')
  assert.ok(imports.get('server/start.ts')?.includes('server/app.ts'), 'the imports are not read')
  assert.deepEqual(findViolations(imports), [])
})

test('every import has a target', async () => {
  const imports = await readImports()
  for (const [file, targets] of imports) {
    for (const target of targets) assert.ok(imports.has(target), `${file} imports ${target}`)
  }
})

test('the check reports a violation by name', () => {
  const violationsOf = (file: string, source: string) =>
    findViolations(new Map([[file, readTargets(file, source)]]))
  for (const [file, source, expected] of [
    ['server/lib/db.ts', `import { x } from '../videos/store.ts'`, 'videos ranks above lib'],
    ['server/lib/db.ts', `import {\n  a,\n  b,\n} from '../config.ts'`, 'config ranks above lib'],
    ['server/context.ts', `import type { X } from './accounts/keys.ts'`, 'accounts ranks above context'],
    ['server/tables.ts', `import type { X } from './videos/tables.ts'`, 'videos ranks above tables'],
    ['server/slice.ts', `import type { X } from './uploads/tables.ts'`, 'uploads ranks above slice'],
    ['server/access/slice.ts', `import { slices } from '../slices.ts'`, 'slices ranks above access'],
    ['server/media/a.ts', `declare module '../tables.ts' {}`, 'tables has the same rank as media'],
    ['server/uploads/a.ts', `export { x } from '../players/b.ts'`, 'players has the same rank as uploads'],
    ['server/videos/a.ts', `export * from '../webhooks/b.ts'`, 'webhooks has the same rank as videos'],
    ['server/videos/a.ts', `const x = await import('../app.ts')`, 'app ranks above videos'],
    ['server/videos/a.ts', `import '../main.ts'`, 'main ranks above videos'],
    [
      'server/migrations/a.ts',
      `import { x } from '../lib/ids.ts'`,
      'migrations import nothing from other folders',
    ],
    [
      'server/accounts/a.ts',
      `import { x } from '../migrations/migrate.ts'`,
      'only database.ts runs migrations',
    ],
    [
      'server/lib/a.ts',
      `import { x } from '../../web/player/b.ts'`,
      'the server imports nothing from outside',
    ],
    [
      'web/player/a.ts',
      `import { x } from '../../server/lib/ids.ts'`,
      'web/ imports nothing from the server',
    ],
    ['server/live/state/a.ts', `import { x } from '../output/b.ts'`, 'output is not below state'],
    ['server/live/hls/a.ts', `import { x } from '../output/b.ts'`, 'output is not below hls'],
    ['server/uploads/tus/a.ts', `import { x } from '../chunks/b.ts'`, 'chunks is not below tus'],
    ['server/helpers/a.ts', '', 'belongs to no known slice'],
  ] as const) {
    const [violation, ...more] = violationsOf(file, source)
    assert.ok(violation?.includes(expected), `${source}: ${violation}`)
    assert.deepEqual(more, [])
  }
  assert.deepEqual(violationsOf('server/videos/a.ts', `import pg from 'pg'\nimport { x } from './b.ts'`), [])
})

test('the check reports a cycle by name', () => {
  const imports = new Map([
    ['server/lib/a.ts', ['server/lib/b.ts', 'server/lib/d.ts']],
    ['server/lib/b.ts', ['server/lib/c.ts']],
    ['server/lib/c.ts', ['server/lib/a.ts']],
    ['server/lib/d.ts', []],
  ])
  assert.deepEqual(findViolations(imports), [
    'a cycle: server/lib/a.ts > server/lib/b.ts > server/lib/c.ts > server/lib/a.ts',
  ])
})
