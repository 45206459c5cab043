// Builds web/dashboard into web/dashboard/dist.
import { buildFolder } from './vite.ts'

await buildFolder('dashboard')
