#!/usr/bin/env node
// The `kinora` command. Plain JavaScript, because it has two things to see to before TypeScript can be run:
// a Node that is new enough, and types that Node itself does not strip in an installed package.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import * as module from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const NODE_MAJOR = 24
const root = dirname(dirname(fileURLToPath(import.meta.url)))

// By version, and by whether it strips types: some distributions build Node without that part.
if (Number.parseInt(process.versions.node, 10) >= NODE_MAJOR && process.features.typescript) {
  if (root.split('/').includes('node_modules')) stripTypesOfThisPackage()
  keepCompiledModules()
  const { main } = await import('../server/cli/main.ts')
  await main(process.argv.slice(2))
} else {
  const node = findNewerNode()
  if (node) {
    runBy(node)
  } else {
    console.error(
      `Kinora needs Node ${NODE_MAJOR} or newer and this is ${process.version}: please install it.`,
    )
    process.exitCode = 1
  }
}

// Stripping types and compiling is most of what a start costs, so Node keeps the result for the next one. Beside the
// packages: whoever may write there may change the program anyway. Where this user may not (a checkout of root, a
// read-only image), the service keeps it in its data folder, once there is one.
function keepCompiledModules() {
  const { ENABLED, ALREADY_ENABLED } = module.constants.compileCacheStatus
  const isKept = (folder) => [ENABLED, ALREADY_ENABLED].includes(module.enableCompileCache(folder).status)
  if (isKept(join(root, 'node_modules/.cache/compiled'))) return
  const dataFolder = resolve(process.env.KINORA_DATA_DIR || 'data')
  if (process.argv[2] === 'start' && existsSync(dataFolder)) isKept(join(dataFolder, 'cache'))
}

// Node refuses to strip types below a node_modules folder (ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING), as
// published packages should hold JavaScript. This one holds what it was written in. The hook counts for this
// thread alone: a worker thread or child process that runs a file of the server has to go through this command.
function stripTypesOfThisPackage() {
  const ours = new URL('../server/', import.meta.url).href
  module.registerHooks({
    load(url, context, nextLoad) {
      if (!url.startsWith(ours) || !/\.ts($|[?#])/.test(url)) return nextLoad(url, context)
      const source = stripTypes(readFileSync(fileURLToPath(url), 'utf8'))
      return { format: 'module', source, shortCircuit: true }
    },
  })
}

// The function warns on its first call that it is experimental, which tells a user nothing.
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

// In a checkout the set-up puts a newer Node into node_modules where the host's is too old; an installed package
// has it where its own command is linked.
function findNewerNode() {
  const candidates = [join(root, 'node_modules/.bin/node'), join(dirname(root), '.bin/node')]
  return candidates.find((node) => {
    if (!existsSync(node) || realpathSync(node) === process.execPath) return false
    const { stdout } = spawnSync(node, ['-v'], { encoding: 'utf8' })
    return Number(/^v(\d+)/.exec(stdout)?.[1]) >= NODE_MAJOR
  })
}

function runBy(node) {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      // A terminal sends Ctrl-C to both of us; passed on, it would count as the second, which ends at once.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
    })
  }
  child.on('exit', (code, signal) => {
    process.removeAllListeners(signal)
    if (signal) process.kill(process.pid, signal)
    else process.exitCode = code
  })
}
