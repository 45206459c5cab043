import type { Slice } from '../slice.ts'
import { AccessToken, accountRoutes } from './routes.ts'

export const accounts: Slice = {
  schemas: [AccessToken],
  publicRoutes: accountRoutes,
}
