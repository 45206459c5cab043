// Makes a release: npm run release -- 0.2.0. It sets the version, closes the section of the changelog, commits, tags, and
// builds the package and the image. It publishes nothing. If it is interrupted, run it again. With --dry-run it only
// checks.
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findEngine } from './image/engine.mjs'

const PREVIOUS = 'test/upgrades/previous.json'
const FILES = ['package.json', 'package-lock.json', 'CHANGELOG.md', PREVIOUS]
const root = dirname(dirname(fileURLToPath(import.meta.url)))
const isDryRun = process.argv.includes('--dry-run')
const [version = '', ...others] = process.argv.slice(2).filter((each) => each !== '--dry-run')
const tag = `v${version}`
const title = `release: version ${version}`

class ReleaseError extends Error {}

try {
  checkArguments()
  const isCommitted = git('log', '-1', '--format=%s') === title
  const changes = isCommitted ? {} : prepareChanges()
  checkBranch(changes)
  checkTag(isCommitted)
  if (isDryRun) say(`Version ${version} can be released. Nothing was changed.`)
  else release(changes, isCommitted)
} catch (error) {
  if (!(error instanceof ReleaseError)) throw error
  console.error(`release: ${error.message}`)
  process.exitCode = 1
}

function checkArguments() {
  if (!/^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}$/.test(version) || others.length > 0)
    throw new ReleaseError('Give one version such as 0.2.0: npm run release -- 0.2.0 [--dry-run]')
}

// The new content of each file, made from the last commit: an interrupted release may have written some of them.
function prepareChanges() {
  const manifest = JSON.parse(committed('package.json'))
  if (!isHigher(version, manifest.version))
    throw new ReleaseError(`${version} is not higher than the current version ${manifest.version}.`)
  const lock = JSON.parse(committed('package-lock.json'))
  lock.version = version
  lock.packages[''].version = version
  const json = (value) => `${JSON.stringify(value, null, 2)}\n`
  return {
    'package.json': json({ ...manifest, version }),
    'package-lock.json': json(lock),
    'CHANGELOG.md': closeSection(committed('CHANGELOG.md')),
    // The test of rolling upgrades runs this version beside the next one.
    [PREVIOUS]: json({ revision: tag }),
  }
}

function closeSection(changelog) {
  const [, before, section, after] = /^(.*?\n)## Unreleased\n(.*?)((?:\n## .*)?)$/s.exec(changelog) ?? []
  if (section === undefined) throw new ReleaseError('CHANGELOG.md has no section "## Unreleased".')
  if (!/^- /m.test(section))
    throw new ReleaseError(
      'The section "## Unreleased" of CHANGELOG.md is empty: there is nothing to release.',
    )
  return `${before}## Unreleased\n\n## ${version} - ${today()}\n${section}${after}`
}

function checkBranch(changes) {
  const branch = git('branch', '--show-current')
  if (branch !== 'main')
    throw new ReleaseError(`Releases are made on the branch main, and this is ${branch || 'no branch'}.`)
  // The day may have changed since the interruption.
  const normal = (text) => text?.replace(/^(## \d\S* - ).*$/m, '$1')
  const isOurs = (path) => normal(changes[path]) === normal(readFileSync(join(root, path), 'utf8'))
  const changed = git('status', '--porcelain', '-z')
    .split('\0')
    .filter(Boolean)
    .map((line) => line.slice(3))
    .filter((path) => !FILES.includes(path) || !isOurs(path))
  if (changed.length > 0)
    throw new ReleaseError(`Commit or discard your changes first: ${changed.slice(0, 5).join(', ')}.`)
}

function checkTag(isCommitted) {
  const tagged = findTag()
  if (tagged && !(isCommitted && tagged === git('rev-parse', 'HEAD')))
    throw new ReleaseError(`The tag ${tag} exists and is another commit.`)
}

function release(changes, isCommitted) {
  for (const [path, content] of Object.entries(changes)) replaceFile(path, content)
  if (!isCommitted) git('commit', '--quiet', '--message', title, '--', ...FILES)
  if (!findTag()) git('tag', '--annotate', tag, '--message', `Version ${version}`)
  say(`Committed and tagged ${tag}. Building the package…`)
  run('npm', ['pack', '--loglevel=error'])
  const engine = findEngine()
  if (engine) run(process.execPath, ['scripts/image.mjs'])
  say(`
Version ${version} is ready. Nothing was published. To publish it:
  git push origin main ${tag}
  npm publish kinora-${version}.tgz`)
  if (engine) {
    say(`  ${engine.name} tag kinora:${version} REGISTRY/kinora:${version}
  ${engine.name} push REGISTRY/kinora:${version}`)
  } else say('No image was built: start Docker, or install podman or buildah, and run npm run image.')
}

// Renamed when it is complete. The folder of git is on the same disk, and its files are no changes.
function replaceFile(path, content) {
  const temporary = `${git('rev-parse', '--absolute-git-dir')}/kinora-release`
  writeFileSync(temporary, content)
  renameSync(temporary, join(root, path))
}

function isHigher(a, b) {
  const [x, y] = [a, b].map((each) => each.split('.').map(Number))
  const i = x.findIndex((number, at) => number !== y[at])
  return i >= 0 && x[i] > y[i]
}

function findTag() {
  const args = ['rev-parse', '--verify', '--quiet', `refs/tags/${tag}^{commit}`]
  return spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout.trim()
}

function today() {
  return new Date().toISOString().slice(0, 10)
}

function committed(path) {
  return execFileSync('git', ['show', `HEAD:${path}`], { cwd: root, encoding: 'utf8', maxBuffer: 64 << 20 })
}

function git(...args) {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  if (status !== 0) throw new ReleaseError(`git ${args[0]} failed: ${stderr.trim()}`)
  return stdout.trimEnd()
}

function run(command, args) {
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit' })
  if (status !== 0)
    throw new ReleaseError(`${command} ${args[0]} failed. Solve it, and run the same command again.`)
}

function say(text) {
  console.log(text)
}
