import type { Slice } from '../slice.ts'
import { errorPage } from './error-page.ts'
import { pageRoutes } from './routes.ts'

export const pages: Slice = { publicRoutes: pageRoutes, errorPage }
