import type { Slice } from '../slice.ts'
import { identityRoutes } from './identity.ts'

export const doctor: Slice = { processRoutes: identityRoutes }
