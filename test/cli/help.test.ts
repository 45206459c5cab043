import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { updateReference } from '../../scripts/cli-docs.ts'
import { commands } from '../../server/cli/commands.ts'
import { formatHelp } from '../../server/cli/help.ts'
import { commandName } from '../../server/lib/command-name.ts'
import { root, runKinora, temporaryFolder } from '../support/harness.ts'

// What the kinora command does without a service: help, completion, errors, and what its package contains.

const exec = promisify(execFile)

describe('help', () => {
  test('a call without arguments lists all commands', async () => {
    const { code, stdout, stderr } = await runKinora([])
    assert.deepEqual([code, stderr], [0, ''])
    for (const { name, summary } of commands) {
      assert.ok(stdout.includes(`  ${name}`), name)
      assert.ok(stdout.replaceAll(/\s+/g, ' ').includes(summary), name)
    }
  })

  test('every command has a page with its usage, options and examples', async () => {
    for (const { name, operands, options, examples } of commands) {
      const page = formatHelp(commands, name.split(' '), 'npx kinora')
      assert.match(page, /^Usage: npx kinora /)
      for (const part of [name, ...operands, '--help']) assert.ok(page.includes(part), `${name}: ${part}`)
      for (const [option, { meaning }] of Object.entries(options)) {
        assert.ok(page.includes(`--${option}`), `${name}: ${option}`)
        assert.ok(page.replaceAll(/\s+/g, ' ').includes(meaning), `${name}: ${meaning}`)
      }
      assert.ok(examples.length > 0, name)
      for (const line of page.split('\n')) assert.ok(line.length <= 120, line)
    }
    const [page, same, group] = await Promise.all(
      [
        ['upload', '--help'],
        ['help', 'upload'],
        ['videos', '-h'],
      ].map((args) => runKinora(args)),
    )
    assert.equal(page!.stdout, `${formatHelp(commands, ['upload'], 'npm run kinora --')}\n`)
    assert.deepEqual([same!.code, same!.stdout], [0, page!.stdout])
    assert.match(group!.stdout, /videos retry VIDEO/)
    assert.doesNotMatch(group!.stdout, /watermarks/)
  })

  test('--version prints the version of the package', async () => {
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
    for (const arg of ['--version', 'version']) {
      const { code, stdout } = await runKinora([arg])
      assert.deepEqual([code, stdout], [0, `${version}\n`])
    }
  })

  test('the reference in docs/cli.md matches the commands', async () => {
    const text = await readFile(join(root, 'docs/cli.md'), 'utf8')
    assert.equal(text, updateReference(text), 'run npm run cli-docs')
  })

  test('a command in a wrong folder creates no database', async (t) => {
    const KINORA_DATA_DIR = join(await temporaryFolder(t), 'data')
    for (const command of [['keys', 'list'], ['login-link'], ['storage'], ['files', 'sweep']]) {
      const { code, stdout, stderr } = await runKinora(command, { KINORA_DATA_DIR })
      assert.deepEqual([code, stdout], [1, ''], stderr)
      assert.match(stderr, /^kinora: There is no database in \S+\/data\. [^\n]+ set KINORA_DATA_DIR\.\n$/)
      await assert.rejects(stat(KINORA_DATA_DIR))
    }
  })

  test('hints name the command as it was called', () => {
    const installed = 'file:///home/ada/site/node_modules/kinora/server/lib/command-name.ts'
    const checkout = 'file:///home/ada/kinora/server/lib/command-name.ts'
    assert.equal(commandName({ npm_command: 'exec' }, installed), 'npx kinora')
    assert.equal(commandName({ npm_command: 'run-script' }, installed), 'npx kinora')
    assert.equal(commandName({}, installed), 'kinora')
    assert.equal(commandName({ npm_command: 'start' }, checkout), 'npm run kinora --')
    assert.equal(commandName({}, checkout), 'npm run kinora --')
    assert.equal(commandName({ npm_command: 'exec' }, checkout), 'npx kinora')
    const image = 'file:///opt/kinora/server/lib/command-name.ts'
    assert.equal(commandName({}, image, '/usr/local/bin/kinora'), 'kinora')
    assert.equal(commandName({}, image, '/opt/kinora/bin/kinora.mjs'), 'npm run kinora --')
  })
})

test('with --json, errors and warnings are JSON on stderr', async (t) => {
  const folder = await temporaryFolder(t)
  const env = { KINORA_KEY: 'k', KINORA_PRT: '1', KINORA_DATA_DIR: folder }
  const [usage, missing, unreachable] = await Promise.all([
    runKinora(['upload', '--json']),
    runKinora(['upload', join(folder, 'none.mp4'), '--json'], env),
    runKinora(['videos', 'list', '--json'], { ...env, KINORA_URL: 'http://127.0.0.1:9' }),
  ])
  assert.deepEqual([usage.code, usage.stdout], [2, ''])
  assert.deepEqual(JSON.parse(usage.stderr), {
    error: { message: 'FILE is missing: upload FILE…', exitCode: 2 },
  })
  assert.deepEqual([missing.code, missing.stdout], [1, ''])
  const [warning, error] = missing.stderr.trim().split('\n')
  assert.match(JSON.parse(warning!).warning, /^KINORA_PRT is not a setting/)
  assert.match(JSON.parse(error!).error.message, /^No such file: \S*none\.mp4$/)
  assert.match(unreachable.stderr, /http:\/\/127\.0\.0\.1:9 cannot be reached: .*Check KINORA_URL/)
})

describe('completion', () => {
  /** What bash completes after these words, the last of which is incomplete. */
  async function complete(folder: string, ...words: string[]): Promise<string[]> {
    const script = `
      source completion
      COMP_WORDS=(kinora "$@") COMP_CWORD=$#
      compopt() { :; }
      _kinora
      printf '%s\\n' "\${COMPREPLY[@]}"`
    const { stdout } = await exec('bash', ['-uc', script, 'bash', ...words], { cwd: folder })
    return stdout.trim().split('\n').sort()
  }

  test('bash completes commands, options, values and file names', async (t) => {
    const folder = await temporaryFolder(t)
    await writeFile(join(folder, 'completion'), (await runKinora(['completion', 'bash'])).stdout)
    await writeFile(join(folder, 'my film.mp4'), '')
    await mkdir(join(folder, 'my folder'))
    assert.deepEqual(await complete(folder, 'vid'), ['videos'])
    assert.ok((await complete(folder, '')).includes('--version'))
    assert.deepEqual(await complete(folder, 'videos', 're'), ['restore', 'retry'])
    assert.deepEqual(await complete(folder, 'help', 'webhooks', ''), ['listen'])
    assert.deepEqual(await complete(folder, 'videos', 'status', 'vi1', '--w'), ['--watch'])
    assert.deepEqual(await complete(folder, 'keys', 'create', '-e', ''), ['production', 'sandbox'])
    assert.deepEqual(await complete(folder, 'upload', 'my'), ['my film.mp4', 'my folder'])
    assert.deepEqual(await complete(folder, 'upload', 'a.mp4', '--title', 'my'), [''])
    assert.deepEqual(await complete(folder, 'completion', 'f'), ['fish'])
    for (const { name, options } of commands) {
      const found = await complete(folder, ...name.split(' '), '-')
      for (const option of Object.keys(options)) assert.ok(found.includes(`--${option}`), `${name} ${option}`)
    }
  })

  test('zsh and fish get a script, other shells an error', async () => {
    const [zsh, fish, other] = await Promise.all(
      ['zsh', 'fish', 'cmd'].map((shell) => runKinora(['completion', shell])),
    )
    for (const { code, stdout } of [zsh!, fish!]) {
      assert.equal(code, 0)
      for (const { name } of commands) assert.ok(stdout.includes(name), name)
    }
    assert.deepEqual([other!.code, other!.stdout], [2, ''])
    assert.match(other!.stderr, /SHELL must be bash or zsh or fish, not "cmd"/)
  })
})

test('the package contains everything that a start needs, and no tests', async () => {
  const { stdout } = await exec('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root })
  const paths: string[] = JSON.parse(stdout)[0].files.map(({ path }: { path: string }) => path)
  assert.deepEqual(
    paths.filter((path) => /\.test\.|^(test|bench)\/|^data\/|\.env/.test(path)),
    [],
  )
  const sources = paths.filter((path) => /\.(ts|mjs)$/.test(path))
  const contents = await Promise.all(sources.map((path) => readFile(join(root, path), 'utf8')))
  assert.deepEqual(
    sources.filter((_, i) => contents[i]!.includes(`from 'node:test'`)),
    [],
  )
  const needed = [
    ...['bin/kinora.mjs', 'scripts/setup.mjs', 'scripts/debian-packages.mjs', 'openapi.json', 'README.md'],
    ...['server/main.ts', 'server/migrations/0001_accounts.ts', 'docs/cli.md', 'docs/settings.md', 'LICENSE'],
    // The docs refer to them.
    ...['CHANGELOG.md', 'deploy/alerts.yml', 'deploy/grafana.json'],
  ]
  for (const path of needed) assert.ok(paths.includes(path), path)
  for (const folder of ['player/dist', 'dashboard/dist/assets', 'docs/dist'])
    assert.ok(paths.includes(`web/${folder}/THIRD_PARTY_LICENSES.md`), folder)
})
