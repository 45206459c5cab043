import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { compress } from './compress.ts'

const text = /\.(js|css|svg)$/

/** Builds a folder with Vite into its `dist`, with a Brotli and a gzip version of each text file. */
export async function buildFolder(name: string): Promise<void> {
  const folder = fileURLToPath(new URL(`../${name}`, import.meta.url))
  const dist = join(folder, 'dist')
  const temporary = join(folder, 'dist.new')
  // Built in a temporary folder and renamed, so that an interrupted build is never mistaken for a complete one.
  rmSync(temporary, { recursive: true, force: true })
  await build({
    configFile: join(folder, 'vite.config.ts'),
    build: { outDir: temporary, emptyOutDir: true },
  })
  const files = readdirSync(temporary, { recursive: true, encoding: 'utf8' })
  await Promise.all(files.filter((file) => text.test(file)).map((file) => compress(join(temporary, file))))
  // The fingerprint of the sources, which scripts/setup.mjs computes and compares.
  const [fingerprint] = process.argv.slice(2)
  if (fingerprint) writeFileSync(join(temporary, 'built-from'), fingerprint)
  rmSync(dist, { recursive: true, force: true })
  renameSync(temporary, dist)
}
