// Runs every test file, the slowest ones first, so that no long file is left to run alone at the end.
import { globSync } from 'node:fs'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'

/** By CPU time, longest first. */
const slowest = [
  'encoding-sources',
  'encoding-hostile',
  'play',
  'encoding-recovery',
  'postgres',
  'player',
  'files',
  'operations',
  'thumbnails',
  'player-tracks',
  'transcripts',
  'watermarks',
  'discarded-work',
  'sweep',
  'encoding-timestamps',
  'encoding-failures',
  'encoding',
  'encoding-sync',
  'encoding-s3',
  'encoding-killed',
  'uploader',
  'command-line-videos',
  'processes',
  'host',
]

const [filesAtOnce, timeoutMs, globalSetupPath] = process.argv.slice(2)
const rank = (file) => {
  const place = slowest.findIndex((name) => file === `test/${name}.test.ts`)
  return place === -1 ? slowest.length : place
}
const files = globSync('{test,server,web}/**/*.test.ts').sort((a, b) => rank(a) - rank(b))
run({ files, concurrency: Number(filesAtOnce), timeout: Number(timeoutMs), globalSetupPath })
  .on('test:fail', () => {
    process.exitCode = 1
  })
  .compose(spec)
  .pipe(process.stdout)
