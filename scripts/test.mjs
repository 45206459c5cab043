// What `npm test` runs: types, format and lint, then every test. With arguments only the tests, and the arguments
// go to Node's test runner: `npm test -- test/videos.test.ts`, `npm test -- --test-name-pattern=webhook`.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const TESTS = '{test,server,web}/**/*.test.ts'
const GLOBAL_SETUP = 'test/global-setup.ts'
// Each test file is a process that may have a Postgres, a server and ffmpegs of its own. One more than two cores could
// run, as many tests wait for something.
const FILES_AT_ONCE = 3
const TEST_TIMEOUT_MS = 300_000

const root = dirname(dirname(fileURLToPath(import.meta.url)))
process.chdir(root)
if (Number.parseInt(process.versions.node, 10) < 24) {
  console.error(`The tests need Node 24 or newer and this is ${process.version}: please run npm test.`)
  process.exit(1)
}

// Each test file is a process that compiles the same modules.
process.env.NODE_COMPILE_CACHE ??= join(root, 'node_modules/.cache/compiled')

const args = process.argv.slice(2)
const failed = []
if (args.length === 0) {
  const tsc = (...args) => run(join(root, 'node_modules/.bin/tsc'), ['--noEmit', ...args])
  if ((await tsc()) !== 0) failed.push('types (tsc)')
  if ((await tsc('-p', 'web')) !== 0) failed.push('types of web (tsc)')
  if ((await run(join(root, 'node_modules/.bin/biome'), ['check'])) !== 0)
    failed.push('format and lint (biome)')
}
// A path that is not there counts too: Node says so. A word alone is the value of an option.
const namesFiles = args.some((each) => !each.startsWith('-') && (existsSync(each) || /[/*]/.test(each)))
const options = [
  '--test',
  `--test-concurrency=${FILES_AT_ONCE}`,
  `--test-timeout=${TEST_TIMEOUT_MS}`,
  '--test-reporter=spec',
  ...(existsSync(GLOBAL_SETUP) ? [`--test-global-setup=${GLOBAL_SETUP}`] : []),
]
if ((await run(process.execPath, [...options, ...args, ...(namesFiles ? [] : [TESTS])])) !== 0)
  failed.push('tests')
// Node's summary counts the tests alone, so the rest would be overlooked.
if (failed.length > 0) console.error(`failed: ${failed.join(', ')}`)
process.exitCode = failed.length > 0 ? 1 : 0

function run(command, args) {
  return new Promise((done) => {
    const child = spawn(command, args, { stdio: 'inherit' })
    let stoppedBy
    const stop = (signal) => {
      stoppedBy = signal
      child.kill(signal)
    }
    for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, stop)
    child.on('error', (error) => {
      console.error(error.message)
      done(1)
    })
    child.on('exit', (code) => {
      for (const signal of ['SIGTERM', 'SIGHUP']) process.off(signal, stop)
      if (stoppedBy) process.kill(process.pid, stoppedBy)
      else done(code)
    })
  })
}
