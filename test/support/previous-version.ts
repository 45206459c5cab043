import { execFile, spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { mkdir, symlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { root, temporaryFolder } from './harness.ts'

/** The tag of the last release, which `npm run release` updates, or a commit while no release knows rolling upgrades. */
const { revision } = JSON.parse(readFileSync(join(root, 'test/upgrades/previous.json'), 'utf8')) as {
  revision: string
}

const git = (...args: string[]) => spawnSync('git', args, { cwd: root, encoding: 'utf8' })

/** Why the previous version cannot run here, or false. */
export const lacksPreviousVersion: string | false =
  git('cat-file', '-e', `${revision}^{commit}`).status !== 0 &&
  `the previous version (${revision}) is not in this checkout: git fetch --unshallow --tags`

export type PreviousVersion = {
  /** For `startKinora`. */
  args: string[]
  migrations: string[]
}

/** Unpacks the code of the previous version. It uses the packages and the built pages of this one. */
export async function unpackPreviousVersion(t: {
  after(end: () => unknown): void
}): Promise<PreviousVersion> {
  const folder = await temporaryFolder(t)
  const archive = join(folder, 'archive.tar')
  const run = promisify(execFile)
  await run(
    'git',
    ['archive', '--output', archive, revision, 'server', 'package.json', 'docs', 'web', 'openapi.json'],
    {
      cwd: root,
    },
  )
  await run('tar', ['-xf', archive, '--no-same-owner', '-C', folder])
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const page of globSync('web/*/dist', { cwd: root })) {
    await mkdir(join(folder, page, '..'), { recursive: true })
    await symlink(join(root, page), join(folder, page))
  }
  return {
    args: [join(folder, 'server/main.ts')],
    migrations: globSync('[0-9]*.ts', { cwd: join(folder, 'server/migrations') })
      .map((name) => basename(name, '.ts'))
      .sort(),
  }
}
