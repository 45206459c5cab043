// Builds web/reference into web/reference/dist: our own files and the script of Scalar, the API reference. Only one file of
// Scalar is needed, so it is taken out of its package. Installing it would add 28 packages with 30 MB.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runInNewContext } from 'node:vm'
import { compress } from './compress.ts'

const scalar = {
  name: '@scalar/fastify-api-reference',
  version: '1.72.1',
  /** From `npm view @scalar/fastify-api-reference dist.integrity`. */
  integrity:
    'sha512-+Oy1b211/7tvoplwAyzj/vxACkdX6gyo2dp4BnSaGcMkI2IGme5hxr8Krld5SnQ4Jb80eNTJtGShJQeSo3u2VQ==',
}

const licensesFile = 'THIRD_PARTY_LICENSES.md'
const folder = fileURLToPath(new URL('../reference', import.meta.url))
const dist = join(folder, 'dist')
const temporary = join(folder, 'dist.new')

// Built in a temporary folder and renamed, so that an interrupted build is never mistaken for a complete one.
rmSync(temporary, { recursive: true, force: true })
mkdirSync(temporary, { recursive: true })
const { script, licenses } = readScalar()
const names = {
  scalar: await write('scalar.js', `/*! Licenses: /docs/assets/${licensesFile} */\n${script}`),
  script: await write('main.js', readFileSync(join(folder, 'main.js'), 'utf8')),
  style: await write('style.css', readFileSync(join(folder, 'style.css'), 'utf8')),
}
writeFileSync(join(temporary, licensesFile), licenses)
await compress(join(temporary, licensesFile))
writeFileSync(join(temporary, 'manifest.json'), JSON.stringify(names))
// The fingerprint of the sources, which scripts/setup.mjs computes and compares.
const [fingerprint] = process.argv.slice(2)
if (fingerprint) writeFileSync(join(temporary, 'built-from'), fingerprint)
rmSync(dist, { recursive: true, force: true })
renameSync(temporary, dist)

/** Writes a file and its compressed versions. Its name contains a hash, because browsers cache it forever. */
async function write(name: string, content: string): Promise<string> {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 8)
  const extension = extname(name)
  const hashed = `${basename(name, extension)}-${hash}${extension}`
  writeFileSync(join(temporary, hashed), content)
  await compress(join(temporary, hashed))
  return hashed
}

function readScalar(): { script: string; licenses: string } {
  const download = mkdtempSync(join(tmpdir(), 'kinora-reference-'))
  try {
    const archive = join(download, runNpmPack(download))
    const hash = createHash('sha512').update(readFileSync(archive)).digest('base64')
    if (`sha512-${hash}` !== scalar.integrity) throw new Error(`${scalar.name} has an unexpected checksum.`)
    const read = (path: string) =>
      execFileSync('tar', ['-xzOf', archive, path], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
    const literal = /^var standalone_default = (".*");$/m.exec(read('package/dist/index.js'))?.[1]
    if (!literal) throw new Error(`${scalar.name} does not contain the script at the expected place.`)
    const script: string = runInNewContext(literal)
    return { script, licenses: writeLicenses(script, read('package/LICENSE')) }
  } finally {
    rmSync(download, { recursive: true })
  }
}

/** The license of Scalar, and the notices of the packages that its script contains. */
function writeLicenses(script: string, license: string): string {
  const notices = [...script.matchAll(/\/\*!([\s\S]*?)\*\//g)].map(([, text = '']) =>
    text.replaceAll(/^\s*\*? ?/gm, '').trim(),
  )
  const sections = [
    `## ${scalar.name} - ${scalar.version} (MIT)`,
    license.trim(),
    '## Notices in its script',
    ...new Set(notices),
  ]
  return `# Licenses\n\n${sections.join('\n\n')}\n`
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
