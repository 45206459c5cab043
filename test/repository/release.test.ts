import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { chmod, cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { root, temporaryFolder } from '../support/harness.ts'

const changelog = '# Changelog\n\n## Unreleased\n\n### Added\n\n- A thing.\n\n## 0.1.0\n\n- The first.\n'

/** A repository with version 0.1.0, the scripts, and stand-ins for npm and the engines. */
async function createRepository(t: TestContext, { unreleased = changelog } = {}) {
  const folder = await temporaryFolder(t)
  const bin = await temporaryFolder(t)
  for (const name of ['docker', 'podman', 'buildah']) await writeFile(join(bin, name), '#!/bin/sh\nexit 1\n')
  await writeFile(join(bin, 'npm'), '#!/bin/sh\n[ ! -e .git/fail ] && touch kinora-0.2.0.tgz\n')
  for (const name of await readdir(bin)) await chmod(join(bin, name), 0o755)
  const env = {
    ...process.env,
    PATH: `${bin}:${process.env.PATH}`,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_AUTHOR_NAME: 'Tester',
    GIT_AUTHOR_EMAIL: 'tester@example.com',
    GIT_COMMITTER_NAME: 'Tester',
    GIT_COMMITTER_EMAIL: 'tester@example.com',
  }
  const write = (path: string, content: string) => writeFile(join(folder, path), content)
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, encoding: 'utf8', env }).trim()
  const version = '0.1.0'
  const json = (value: object) => `${JSON.stringify(value, null, 2)}\n`
  await mkdir(join(folder, 'scripts'))
  await mkdir(join(folder, 'test/upgrades'), { recursive: true })
  await cp(join(root, 'scripts/release.mjs'), join(folder, 'scripts/release.mjs'))
  await cp(join(root, 'scripts/image'), join(folder, 'scripts/image'), { recursive: true })
  await write('.gitignore', '*.tgz\n')
  await write('package.json', json({ name: 'kinora', version, type: 'module' }))
  await write('package-lock.json', json({ version, packages: { '': { version } } }))
  await write('CHANGELOG.md', unreleased)
  await write('test/upgrades/previous.json', json({ revision: 'v0.1.0' }))
  git('init', '--quiet', '--initial-branch=main')
  git('add', '.')
  git('commit', '--quiet', '--message', 'begin')
  const release = (...args: string[]) =>
    new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
      execFile(
        process.execPath,
        ['scripts/release.mjs', ...args],
        { cwd: folder, env },
        (error, stdout, stderr) =>
          resolve({ code: error ? Number(error.code ?? -1) : 0, stdout, stderr: String(stderr) }),
      )
    })
  const state = () => git('log', '--format=%H %s', '--all') + git('status', '--porcelain') + git('tag')
  return {
    folder,
    bin,
    git,
    release,
    write,
    state,
    read: (path: string) => readFile(join(folder, path), 'utf8'),
  }
}

test('a release sets the version, closes the section of the changelog, commits and tags', async (t) => {
  const { release, git, read, folder, state } = await createRepository(t)
  const before = state()
  const trial = await release('0.2.0', '--dry-run')
  assert.deepEqual([trial.code, state()], [0, before], trial.stderr)
  const { code, stdout, stderr } = await release('0.2.0')
  assert.equal(code, 0, stderr)
  assert.equal(JSON.parse(await read('package.json')).version, '0.2.0')
  const lock = JSON.parse(await read('package-lock.json'))
  assert.deepEqual([lock.version, lock.packages[''].version], ['0.2.0', '0.2.0'])
  const day = git('log', '-1', '--format=%cd', '--date=format-local:%Y-%m-%d')
  assert.equal(
    await read('CHANGELOG.md'),
    changelog.replace('## Unreleased', `## Unreleased\n\n## 0.2.0 - ${day}`),
  )
  assert.deepEqual(JSON.parse(await read('test/upgrades/previous.json')), { revision: 'v0.2.0' })
  assert.equal(git('log', '-1', '--format=%s'), 'release: version 0.2.0')
  assert.equal(git('rev-parse', 'v0.2.0^{commit}'), git('rev-parse', 'HEAD'))
  assert.equal(git('status', '--porcelain'), '')
  assert.ok((await readdir(folder)).includes('kinora-0.2.0.tgz'))
  for (const command of ['git push origin main v0.2.0', 'npm publish kinora-0.2.0.tgz'])
    assert.ok(stdout.includes(command), stdout)
  assert.match(stdout, /No image was built/)
})

test('a release that cannot be made changes nothing and says why', async (t) => {
  const { release, git, write, state } = await createRepository(t)
  const refuse = async (args: string[], expected: RegExp) => {
    const before = state()
    const { code, stdout, stderr } = await release(...args)
    assert.deepEqual([code, stdout, state()], [1, '', before], stderr)
    assert.match(stderr, /^release: [^\n]+\n$/)
    assert.match(stderr, expected)
  }
  for (const args of [[], ['next'], ['0.2'], ['v0.2.0'], ['01.2.0'], ['0.2.0', '0.3.0']])
    await refuse(args, /version such as 0\.2\.0/)
  for (const version of ['0.1.0', '0.0.9'])
    await refuse([version], /not higher than the current version 0\.1\.0/)
  await write('notes.txt', 'x')
  await refuse(['0.2.0'], /Commit or discard your changes first: notes\.txt/)
  git('add', '.')
  git('commit', '--quiet', '--message', 'notes')
  await write('CHANGELOG.md', `${changelog}- Not committed.\n`)
  await refuse(['0.2.0'], /first: CHANGELOG\.md/)
  git('checkout', '--quiet', 'CHANGELOG.md')
  git('tag', 'v0.2.0')
  await refuse(['0.2.0'], /tag v0\.2\.0 exists/)
  git('tag', '--delete', 'v0.2.0')
  git('checkout', '--quiet', '-b', 'idea')
  await refuse(['0.2.0'], /branch main, and this is idea/)
})

test('an empty section of the changelog is not released', async (t) => {
  const unreleased = changelog.replace('- A thing.\n\n', '')
  const { release, state } = await createRepository(t, { unreleased })
  const before = state()
  const { code, stderr } = await release('0.2.0')
  assert.deepEqual([code, state()], [1, before])
  assert.match(stderr, /"## Unreleased" of CHANGELOG\.md is empty/)
})

test('a release that was interrupted at any step can be repeated', async (t) => {
  const { release, git, write, read } = await createRepository(t)
  // The package could not be built.
  await write('.git/fail', '')
  const failed = await release('0.2.0')
  assert.equal(failed.code, 1)
  assert.match(failed.stderr, /npm pack failed\. .*run the same command again/)
  const written = await Promise.all(['package.json', 'package-lock.json', 'CHANGELOG.md'].map(read))
  // Killed before the tag, before the commit, and after the first file.
  git('tag', '--delete', 'v0.2.0')
  git('reset', '--quiet', '--mixed', 'HEAD~1')
  git('checkout', '--quiet', 'package-lock.json')
  assert.notEqual(git('status', '--porcelain'), '')
  await write('.git/fail', '')
  assert.equal((await release('0.2.0')).code, 1)
  assert.deepEqual(
    await Promise.all(['package.json', 'package-lock.json', 'CHANGELOG.md'].map(read)),
    written,
  )
  git('tag', '--delete', 'v0.2.0')
  execFileSync('rm', [join(git('rev-parse', '--absolute-git-dir'), 'fail')])
  const { code, stderr } = await release('0.2.0')
  assert.equal(code, 0, stderr)
  assert.equal(git('rev-parse', 'v0.2.0^{commit}'), git('rev-parse', 'HEAD'))
  assert.equal(git('log', '--format=%s'), 'release: version 0.2.0\nbegin')
})
