#!/usr/bin/env node
// The `kinora` command. It is plain JavaScript because it prepares two things before TypeScript can run: it finds a
// recent Node, and it strips types in an installed package, where Node does not do so.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import * as module from 'node:module'
import { delimiter, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const NODE_MAJOR = 24
const root = dirname(dirname(fileURLToPath(import.meta.url)))
const isInstalled = root.split('/').includes('node_modules')
const isStart = process.argv[2] === 'start' && process.argv.length === 3

// Some distributions build Node without type stripping, so the version alone is not enough.
if (Number.parseInt(process.versions.node, 10) >= NODE_MAJOR && process.features.typescript) {
  if (isInstalled) preparePackage()
  enableCompileCache()
  const { main } = await import('../server/cli/main.ts')
  await main(process.argv.slice(2))
} else {
  const node = findNewerNode() ?? (runSetup('--node-only') ? findNewerNode() : undefined)
  if (node) runWith(node)
  else process.exitCode = 1
}

// In a checkout, npm runs the set-up.
function preparePackage() {
  stripTypesOfThisPackage()
  if (!isStart) return
  runSetup()
  process.env.PATH = [process.env.PATH, join(root, 'node_modules/.bin')].filter(Boolean).join(delimiter)
}

// Prints what it does to stderr. Returns whether it has succeeded.
function runSetup(...args) {
  const setup = join(root, 'scripts/setup.mjs')
  return (
    spawnSync(process.execPath, [setup, ...args], { stdio: ['ignore', 'ignore', 'inherit'] }).status === 0
  )
}

// Type stripping and compilation take most of the start time, so Node caches the result. The cache is next to the
// packages: a user who can write there can change the program anyway. If this user cannot (a checkout of root, a
// read-only image), the service uses its data folder once that folder exists.
function enableCompileCache() {
  const { ENABLED, ALREADY_ENABLED } = module.constants.compileCacheStatus
  const enable = (folder) => [ENABLED, ALREADY_ENABLED].includes(module.enableCompileCache(folder).status)
  if (enable(join(root, 'node_modules/.cache/compiled'))) return
  const dataFolder = resolve(process.env.KINORA_DATA_DIR || 'data')
  if (isStart && existsSync(dataFolder)) enable(join(dataFolder, 'cache'))
}

// Node does not strip types inside node_modules (ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING), because published
// packages should contain JavaScript. This package contains TypeScript. The hook applies to this thread only: a worker
// thread or child process that runs a server file has to start through this command.
function stripTypesOfThisPackage() {
  const serverUrl = new URL('../server/', import.meta.url).href
  module.registerHooks({
    load(url, context, nextLoad) {
      if (!url.startsWith(serverUrl) || !/\.ts($|[?#])/.test(url)) return nextLoad(url, context)
      const source = stripTypes(readFileSync(fileURLToPath(url), 'utf8'))
      return { format: 'module', source, shortCircuit: true }
    },
  })
}

// Hides the warning that the function is experimental: users cannot act on it.
function stripTypes(source) {
  const { emitWarning } = process
  process.emitWarning = (warning, ...rest) => {
    if (!String(warning).includes('stripTypeScriptTypes')) emitWarning.call(process, warning, ...rest)
  }
  try {
    return module.stripTypeScriptTypes(source)
  } finally {
    process.emitWarning = emitWarning
  }
}

// If the Node of the host is too old, scripts/setup.mjs installs a newer one in node_modules. For an installed package,
// the folder to search is the one that contains its linked command.
function findNewerNode() {
  const candidates = [join(root, 'node_modules/.bin/node'), join(dirname(root), '.bin/node')]
  return candidates.find((node) => {
    if (!existsSync(node) || realpathSync(node) === process.execPath) return false
    const { stdout } = spawnSync(node, ['-v'], { encoding: 'utf8' })
    return Number(/^v(\d+)/.exec(stdout)?.[1]) >= NODE_MAJOR
  })
}

function runWith(node) {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      // A terminal sends Ctrl-C to both processes. Forwarding it would count as a second signal, which ends at once.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
    })
  }
  child.on('exit', (code, signal) => {
    process.removeAllListeners(signal)
    if (signal) process.kill(process.pid, signal)
    else process.exitCode = code
  })
}
