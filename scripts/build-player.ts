// Builds web/player into web/player/dist, with a Brotli and a gzip version of each text file.
import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { compress } from './compress.ts'

const folder = fileURLToPath(new URL('../web/player', import.meta.url))
const dist = join(folder, 'dist')
const temporary = join(folder, 'dist.new')

// Built in a temporary folder and renamed, so that an interrupted build is never mistaken for a complete one.
rmSync(temporary, { recursive: true, force: true })
await build({ configFile: join(folder, 'vite.config.ts'), build: { outDir: temporary, emptyOutDir: true } })
const text = /\.(js|css|svg)$/
await Promise.all(
  readdirSync(temporary)
    .filter((name) => text.test(name))
    .map((name) => compress(join(temporary, name))),
)
// The fingerprint of the sources, which scripts/setup.mjs computes and compares.
const [fingerprint] = process.argv.slice(2)
if (fingerprint) writeFileSync(join(temporary, 'built-from'), fingerprint)
rmSync(dist, { recursive: true, force: true })
renameSync(temporary, dist)
