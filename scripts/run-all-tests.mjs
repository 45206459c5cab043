// Runs every test file, the slowest ones first, so that no long file is left to run alone at the end.
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { pathToFileURL } from 'node:url'

/** By duration, longest first. */
const slowest = [
  'dashboard/pages',
  'encoding/sources',
  'player/player',
  'dashboard/interruptions',
  'encoding/encoding',
  'playback/hls-js',
  'videos/thumbnails',
  'operations/postgres',
  'encoding/fairness',
  'encoding/hostile',
  'encoding/recovery',
  'live/player',
  'live/processes',
  'live/recording',
  'operations/files',
  'uploads/limits',
  'cli/videos',
  'player/sdk',
  'cli/upload',
  'player/tracks',
  'operations/operations',
  'videos/transcripts',
  'videos/watermarks',
  'encoding/sync',
  'dashboard/hooks',
  'dashboard/video',
  'videos/transcripts-recovery',
  'dashboard/videos',
  'dashboard/live',
  'player/panorama',
  'encoding/failures',
  'uploads/tus',
  'uploads/ingest',
  'dashboard/login',
  'playback/delivery',
  'operations/sweep',
  'operations/processes',
  'encoding/host',
  'uploads/browser-library',
  'live/live',
  'live/hostile',
  'encoding/timestamps',
  'encoding/s3',
  'encoding/killed',
  'dashboard/first-minute',
  'videos/discarded-work',
]

const [filesAtOnce, timeoutMs, globalSetupPath] = process.argv.slice(2)
const rank = (file) => {
  const place = slowest.findIndex((name) => file === `test/${name}.test.ts`)
  return place === -1 ? slowest.length : place
}
// The tests of pure functions take less time than the start of a process, so they share one. Hooks of a file would
// apply to all of them.
const hasHooks = (file) => /^(before|after)(Each)?\(/m.test(readFileSync(file, 'utf8'))
const units = globSync('{server,web}/**/*.test.ts').filter((file) => !hasHooks(file))
const unitsFile = 'node_modules/.cache/units.test.mjs'
mkdirSync('node_modules/.cache', { recursive: true })
writeFileSync(
  unitsFile,
  units.map((file) => `import ${JSON.stringify(pathToFileURL(resolve(file)).href)}\n`).join(''),
)

const files = globSync('{test,server,web}/**/*.test.ts')
  .filter((file) => !units.includes(file))
  .concat(unitsFile)
  .sort((a, b) => rank(a) - rank(b))
run({ files, concurrency: Number(filesAtOnce), timeout: Number(timeoutMs), globalSetupPath })
  .on('test:fail', () => {
    process.exitCode = 1
  })
  .compose(spec)
  .pipe(process.stdout)
