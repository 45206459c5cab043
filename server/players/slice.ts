import type { Slice } from '../slice.ts'
import { embedRoutes } from './embed-routes.ts'
import { playersErrors } from './errors.ts'
import { playerRoutes } from './routes.ts'
import { PlayerTheme, PlayerThemeList } from './schemas.ts'

export const players: Slice = {
  errors: playersErrors,
  schemas: [PlayerTheme, PlayerThemeList],
  routes: playerRoutes,
  publicRoutes: embedRoutes,
}
