// Builds web/docs into web/docs/dist, and adds the script of Scalar, the API reference. Only one file of Scalar is needed, so
// it is taken out of its package. Installing it would add 270 packages with 287 MB.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { buildFolder } from './vite.ts'

const scalar = {
  name: '@scalar/api-reference',
  version: '1.72.1',
  /** From `npm view @scalar/api-reference@1.72.1 dist.integrity`. */
  integrity:
    'sha512-XpEJ0rfc/cXbCrR+iC4kK0o/WwX2dTtGQbT049OlPKAHD6IMIFdTeGz2r+M27P2EDWKyUITRm/NzlP8z2pw/Ow==',
  /** The field `browser` of its package.json. */
  script: 'dist/browser/standalone.js',
  copyright: 'Copyright (c) 2023-present Scalar',
}

const licensesFile = 'THIRD_PARTY_LICENSES.md'

await buildFolder('docs', addScalar)

/** The name of a file contains a hash, because browsers cache it forever. */
function addScalar(folder: string): void {
  const script = readScalar()
  const content = `/*! Licenses: /docs/assets/${licensesFile} */\n${script}`
  const file = `scalar-${createHash('sha256').update(content).digest('hex').slice(0, 8)}.js`
  writeFileSync(join(folder, file), content)
  appendFileSync(join(folder, licensesFile), licensesOf(script))
  const manifest = join(folder, 'manifest.json')
  const chunks = JSON.parse(readFileSync(manifest, 'utf8'))
  writeFileSync(manifest, JSON.stringify({ ...chunks, 'scalar.js': { file } }, null, 2))
}

function readScalar(): string {
  const download = mkdtempSync(join(tmpdir(), 'kinora-reference-'))
  try {
    const archive = join(download, runNpmPack(download))
    const hash = createHash('sha512').update(readFileSync(archive)).digest('base64')
    if (`sha512-${hash}` !== scalar.integrity) throw new Error(`${scalar.name} has an unexpected checksum.`)
    const args = ['-xzOf', archive, `package/${scalar.script}`]
    return execFileSync('tar', args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
  } finally {
    rmSync(download, { recursive: true })
  }
}

/** The license of Scalar, and the notices of the packages in its script. */
function licensesOf(script: string): string {
  // The package of Scalar does not contain its license, which is the MIT license, like ours.
  const ours = readFileSync(new URL('../../LICENSE', import.meta.url), 'utf8')
  const notices = [...script.matchAll(/\/\*!([\s\S]*?)\*\//g)].map(([, text = '']) =>
    text.replaceAll(/^\s*\*? ?/gm, '').trim(),
  )
  const sections = [
    `## ${scalar.name} - ${scalar.version} (MIT)`,
    ours.replace(/^Copyright .*$/m, scalar.copyright).trim(),
    '## Notices in its script',
    ...new Set(notices),
  ]
  return `\n${sections.join('\n\n')}\n`
}

/** Downloads the package without its dependencies and returns the name of the file. */
function runNpmPack(folder: string): string {
  const cli = process.env.npm_execpath
  const [command, ...first] = cli && /^npm-cli\.c?js$/.test(basename(cli)) ? [process.execPath, cli] : ['npm']
  const args = ['pack', `${scalar.name}@${scalar.version}`, '--pack-destination', folder, '--loglevel=error']
  // `npm pack --dry-run` and `--json` would set these for this npm, too.
  const flags = ['--dry-run=false', '--json=false', '--ignore-scripts', '--prefer-offline']
  const network = ['--fetch-retries=3', '--fetch-retry-mintimeout=500', '--fetch-retry-maxtimeout=5000']
  const output = execFileSync(command, [...first, ...args, ...flags, ...network], { encoding: 'utf8' })
  return output.trim().split('\n').pop()!
}
