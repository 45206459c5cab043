import type { Slice } from '../slice.ts'
import { docsRoutes } from './routes.ts'

export const docs: Slice = { publicRoutes: docsRoutes }
