// Builds web/dashboard into web/dashboard/dist.
import { buildFolder } from './vite-build.ts'

await buildFolder('web/dashboard')
