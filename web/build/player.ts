// Builds web/player into web/player/dist, and the studio, which shares nothing with it, into dist/studio.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { buildFolder } from './vite.ts'

const studioConfig = fileURLToPath(new URL('../player/studio/vite.config.ts', import.meta.url))

await buildFolder('player', async (folder) => {
  await build({ configFile: studioConfig, build: { outDir: join(folder, 'studio'), emptyOutDir: true } })
})
