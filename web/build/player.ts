// Builds web/player into web/player/dist.
import { buildFolder } from './vite.ts'

await buildFolder('player')
