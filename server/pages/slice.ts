import type { Slice } from '../slice.ts'
import { pageRoutes } from './routes.ts'

export const pages: Slice = { publicRoutes: pageRoutes }
