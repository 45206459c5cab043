// Builds web/player into web/player/dist.
import { buildFolder } from './vite-build.ts'

await buildFolder('web/player')
