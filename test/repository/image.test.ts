import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, matchesGlob } from 'node:path'
import { test } from 'node:test'
import { commands } from '../../server/cli/commands.ts'
import { settings } from '../../server/read-config.ts'
import { root } from '../support/harness.ts'

// No engine runs here: these tests compare the Dockerfile with the repository.

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const dockerfile = read('Dockerfile')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll(/\\\n/g, ' ')
const instructions = (name: string) =>
  [...dockerfile.matchAll(new RegExp(`^${name} (.+)$`, 'gm'))].map(([, text = '']) => text.trim())

/** Whether the path is sent to the engine. The last rule that matches the path or a parent folder decides. */
function isSent(path: string): boolean {
  let isIgnored = false
  for (const rule of read('.dockerignore')
    .split('\n')
    .filter((line) => line && !line.startsWith('#'))) {
    const pattern = rule.replace(/^!/, '')
    const parents = path.split('/').map((_, i, parts) => parts.slice(0, i + 1).join('/'))
    // Unlike in Node, `*` also matches names that begin with a dot.
    if (pattern === '*' || parents.some((each) => matchesGlob(each, pattern)))
      isIgnored = !rule.startsWith('!')
  }
  return !isIgnored
}

test('every file that the image copies exists and is sent to the engine', () => {
  const sources = instructions('COPY')
    .filter((text) => !text.startsWith('--from'))
    .flatMap((text) => text.split(/\s+/).slice(0, -1))
  assert.ok(sources.length > 4)
  for (const source of sources.filter((each) => each !== '.')) {
    assert.ok(existsSync(join(root, source)), source)
    assert.ok(isSent(source), source)
  }
  const scripts = [...dockerfile.matchAll(/\/build\/(scripts\/\S+)/g)].map(([, path = '']) => path)
  assert.ok(scripts.length > 0)
  for (const path of scripts) assert.ok(existsSync(join(root, path)) && isSent(path), path)
})

test('the engine gets every file of the package and of the build, and nothing else', () => {
  const { files } = JSON.parse(read('package.json')) as { files: string[] }
  const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).trim().split('\n')
  const isPacked = (path: string) => files.some((each) => path === each || path.startsWith(`${each}/`))
  for (const path of tracked.filter((each) => isPacked(each) || /^web\//.test(each)))
    assert.ok(isSent(path), path)
  for (const path of ['LICENSE', 'README.md', 'tsconfig.json']) assert.ok(isSent(path), path)
  const unwanted = [
    '.env',
    '.git/config',
    'data/postgres/cluster',
    'node_modules/x',
    'test/x',
    'web/player/dist/x',
  ]
  for (const path of [...unwanted, 'web/node_modules/x']) assert.ok(!isSent(path), path)
})

test('its variables are settings, its ports are the defaults, and its commands exist', () => {
  const variables = instructions('ENV').flatMap((text) => text.match(/\w+(?==)/g) ?? [])
  assert.ok(variables.length > 0)
  for (const name of variables) assert.ok(name in settings, name)
  const ports = ['KINORA_PORT', 'KINORA_RTMP_PORT', 'KINORA_RTMPS_PORT'].map(
    (name) => settings[name]!.default,
  )
  ports.push(...['KINORA_SRT_PORT', 'KINORA_WEBRTC_PORT'].map((name) => `${settings[name]!.default}/udp`))
  assert.deepEqual(instructions('EXPOSE'), [ports.join(' ')])
  const volume = instructions('VOLUME')[0]!
  assert.match(instructions('ENV').join(' '), new RegExp(`KINORA_DATA_DIR=${volume}( |$)`))
  const [health = ''] = instructions('HEALTHCHECK')
  const check = JSON.parse(health.slice(health.indexOf('['))) as string[]
  const called = [check, ['kinora', ...(JSON.parse(instructions('CMD')[0]!) as string[])]]
  for (const [program, name, ...options] of called) {
    const command = commands.find((each) => each.name === name)
    assert.ok(program === 'kinora' && command, name)
    for (const option of options) assert.ok(option.slice(2) in command.options, option)
  }
})

test('it runs as an ordinary user who is named by a number', () => {
  const [user = ''] = instructions('USER')
  assert.match(user, /^[1-9]\d{3,}:[1-9]\d{3,}$/)
  const uid = user.split(':')[0]!
  assert.match(dockerfile, new RegExp(`useradd --uid ${uid} `))
  assert.match(read('scripts/image/prepare-package.sh'), new RegExp(`--reuid=${uid} --regid=${uid} `))
})

test('it has the Node version that the command needs', () => {
  const [major] = /(?<=NODE_MAJOR = )\d+/.exec(read('bin/kinora.mjs'))!
  assert.match(dockerfile, new RegExp(`^ARG NODE_IMAGE=\\S+/node:${major}-`, 'm'))
})
