// Runs what `npm test` stands for: types, format, lint and unused code, then all tests. `--quick` runs the unit tests and
// the main paths, and `--measure` also writes how long each file takes. Other arguments are passed to Node's test runner,
// which then runs tests only: `npm test -- test/api/*`, `npm test -- --test-name-pattern=webhook`.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const TESTS = '{test,server,web}/**/*.test.ts'
const GLOBAL_SETUP = 'test/support/global-setup.ts'
// Each test file is a process with services and encoders of its own. More than the two cores that the tests are made
// for, because many tests wait for something.
const FILES_AT_ONCE = 4
// For a test that hangs. A busy machine may need minutes for the longest ones.
const TEST_TIMEOUT_MS = 900_000
// More than the files of all tests that run at the same time.
const MEMORY_FOLDER_BYTES = 8 * 1024 ** 3

const root = dirname(dirname(fileURLToPath(import.meta.url)))
process.chdir(root)
if (Number.parseInt(process.versions.node, 10) < 24) {
  console.error(`The tests need Node 24 or newer and this is ${process.version}: please run npm test.`)
  process.exit(1)
}

// The tests create hundreds of databases and thousands of files, which takes a third of the CPU time in memory.
if (!process.env.TMPDIR && isUsable('/dev/shm')) process.env.TMPDIR = '/dev/shm'
// Each test file is a process that compiles the same modules.
process.env.NODE_COMPILE_CACHE ??= join(root, 'node_modules/.cache/compiled')

const args = process.argv.slice(2)
const selection = { '': 'all', '--measure': 'measure', '--quick': 'quick' }[args.join(' ')]
const failed = []
if (selection === 'all' || selection === 'measure') {
  const tsc = (...args) => run(join(root, 'node_modules/.bin/tsc'), ['--noEmit', '--singleThreaded', ...args])
  const biome = () => run(join(root, 'node_modules/.bin/biome'), ['check'])
  const knip = () => run(join(root, 'node_modules/.bin/knip'), ['--no-progress'])
  const names = ['types (tsc)', 'types of web (tsc)', 'format and lint (biome)', 'unused code (knip)']
  const codes = await Promise.all([tsc(), tsc('-p', 'web'), biome(), knip()])
  failed.push(...names.filter((_, i) => codes[i] !== 0))
}
// A path that does not exist counts too: Node reports it. A word alone is the value of an option.
const namesFiles = args.some((each) => !each.startsWith('-') && (existsSync(each) || /[/*]/.test(each)))
const options = [
  '--test',
  `--test-concurrency=${FILES_AT_ONCE}`,
  `--test-timeout=${TEST_TIMEOUT_MS}`,
  '--test-reporter=spec',
  `--test-global-setup=${GLOBAL_SETUP}`,
]
const command =
  selection !== undefined
    ? ['scripts/run-tests.mjs', selection, FILES_AT_ONCE, TEST_TIMEOUT_MS, GLOBAL_SETUP].map(String)
    : [...options, ...args, ...(namesFiles ? [] : [TESTS])]
if ((await run(process.execPath, command)) !== 0) failed.push('tests')
// Node's summary counts the tests alone, so the rest would be overlooked.
if (failed.length > 0) console.error(`failed: ${failed.join(', ')}`)
process.exitCode = failed.length > 0 ? 1 : 0

/** Containers often have a small /dev/shm, or one from which no program can be started. */
function isUsable(memoryFolder) {
  try {
    const { bavail, bsize } = statfsSync(memoryFolder)
    if (Math.min(bavail * bsize, process.availableMemory()) < MEMORY_FOLDER_BYTES) return false
    const folder = mkdtempSync(join(memoryFolder, 'kinora-'))
    const program = join(folder, 'program')
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 })
    const { status } = spawnSync(program)
    rmSync(folder, { recursive: true })
    return status === 0
  } catch {
    return false
  }
}

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
