// Builds the player of web/player into web/player/dist, each file beside its compressed forms.
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { build } from 'vite'

const folder = fileURLToPath(new URL('../web/player', import.meta.url))
const dist = join(folder, 'dist')
const fresh = join(folder, 'dist.new')

// Beside, then renamed: half of a build never looks like a whole one.
rmSync(fresh, { recursive: true, force: true })
await build({ configFile: join(folder, 'vite.config.ts'), build: { outDir: fresh, emptyOutDir: true } })
const text = /\.(js|css|svg)$/
await Promise.all(
  readdirSync(fresh)
    .filter((name) => text.test(name))
    .map((name) => compress(join(fresh, name))),
)
// What it was built from, as scripts/setup.mjs counts it.
const [stamp] = process.argv.slice(2)
if (stamp) writeFileSync(join(fresh, 'built-from'), stamp)
rmSync(dist, { recursive: true, force: true })
renameSync(fresh, dist)

async function compress(path: string): Promise<void> {
  const content = readFileSync(path)
  const params = { [constants.BROTLI_PARAM_SIZE_HINT]: content.length }
  const [br, gz] = await Promise.all([
    promisify(brotliCompress)(content, { params }),
    promisify(gzip)(content, { level: 9 }),
  ])
  writeFileSync(`${path}.br`, br)
  writeFileSync(`${path}.gz`, gz)
}
