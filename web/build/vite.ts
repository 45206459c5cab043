import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'vite'
import { compress } from './compress.ts'

const licensesFile = 'THIRD_PARTY_LICENSES.md'
const text = /\.(js|css|svg|md)$/

/** Vite writes the license texts of all packages in the bundle. The first script names that file. */
const licenses: Plugin = {
  name: 'licenses',
  config({ base, build }) {
    const fileName = join(build?.assetsDir ?? '', licensesFile)
    const postBanner = ({ isEntry }: { isEntry: boolean }) =>
      isEntry ? `/*! Licenses: ${base}${fileName} */` : ''
    return { build: { license: { fileName }, rolldownOptions: { output: { postBanner } } } }
  },
}

/** Packages without a license file, and the package of the same author and license whose file is used instead. */
const sameLicense = { 'react-remove-scroll-bar': 'react-remove-scroll' }

function completeLicenses(file: string): void {
  let licenses = readFileSync(file, 'utf8')
  for (const [name, other] of Object.entries(sameLicense)) {
    const text = readFileSync(new URL(import.meta.resolve(`${other}/LICENSE`)), 'utf8')
    licenses = licenses.replace(new RegExp(`^## ${name} - .*\n`, 'm'), (heading) => `${heading}\n${text}`)
  }
  writeFileSync(file, licenses)
}

/**
 * Builds a folder of web/ with Vite into its `dist`, with a Brotli and a gzip version of each text file. `complete` adds
 * files that Vite does not build.
 */
export async function buildFolder(
  name: string,
  complete?: (folder: string) => void | Promise<void>,
): Promise<void> {
  const folder = fileURLToPath(new URL(`../${name}`, import.meta.url))
  const dist = join(folder, 'dist')
  const temporary = join(folder, 'dist.new')
  // Built in a temporary folder and renamed, so that an interrupted build is never mistaken for a complete one.
  rmSync(temporary, { recursive: true, force: true })
  await build({
    configFile: join(folder, 'vite.config.ts'),
    plugins: [licenses],
    build: { outDir: temporary, emptyOutDir: true },
  })
  await complete?.(temporary)
  const files = readdirSync(temporary, { recursive: true, encoding: 'utf8' })
  completeLicenses(join(temporary, files.find((file) => file.endsWith(licensesFile))!))
  await Promise.all(files.filter((file) => text.test(file)).map((file) => compress(join(temporary, file))))
  // The fingerprint of the sources, which scripts/setup.mjs computes and compares.
  const [fingerprint] = process.argv.slice(2)
  if (fingerprint) writeFileSync(join(temporary, 'built-from'), fingerprint)
  rmSync(dist, { recursive: true, force: true })
  renameSync(temporary, dist)
}
