// Runs every test file, or with `quick` the unit tests and the main path of each capability. The slowest files come first,
// so that no long file is left to run alone at the end.
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { pathToFileURL } from 'node:url'

const [selection, filesAtOnce, timeoutMs, globalSetupPath] = process.argv.slice(2)

// The tests of pure functions take less time than the start of a process, so they share one. Hooks of a file would
// apply to all of them.
const hasHooks = (file) => /^(before|after)(Each)?\(/m.test(readFileSync(file, 'utf8'))
const units = find('{server,web}/**/*.test.ts').filter((file) => !hasHooks(file))
const unitsFile = 'node_modules/.cache/units.test.mjs'
mkdirSync('node_modules/.cache', { recursive: true })
writeFileSync(
  unitsFile,
  units.map((file) => `import ${JSON.stringify(pathToFileURL(resolve(file)).href)}\n`).join(''),
)

/** Seconds that each file took in a run of all tests. `npm test -- --measure` writes them. */
const durationsFile = 'test/durations.json'
const durations = JSON.parse(readFileSync(durationsFile, 'utf8'))
// A file that was never measured is new. It may be slow, and costs nothing at the beginning if it is not.
const secondsOf = (file) => durations[file] ?? Number.POSITIVE_INFINITY

const tests = selection === 'quick' ? 'test/*/*.main.test.ts' : 'test/**/*.test.ts'
const files = [...find(tests), ...find('{server,web}/**/*.test.ts').filter(hasHooks), unitsFile].sort(
  (a, b) => secondsOf(b) - secondsOf(a),
)
const measured = {}
run({ files, concurrency: Number(filesAtOnce), timeout: Number(timeoutMs), globalSetupPath })
  .on('test:fail', () => {
    process.exitCode = 1
  })
  .on('test:summary', ({ file, duration_ms: ms }) => {
    if (file) measured[relative('.', file)] = Math.round(ms / 1000)
    // The summary of the whole run has no file.
    else if (selection === 'measure')
      writeFileSync(durationsFile, `${JSON.stringify(sorted(measured), null, 2)}\n`)
  })
  .compose(spec)
  .pipe(process.stdout)

function find(pattern) {
  return globSync(pattern, { exclude: ['**/node_modules'] })
}

function sorted(seconds) {
  return Object.fromEntries(Object.entries(seconds).sort(([a], [b]) => (a < b ? -1 : 1)))
}
