import type { Slice } from '../slice.ts'
import { embedRoutes } from './embed-routes.ts'
import { playerRoutes } from './routes.ts'
import { PlayerTheme, PlayerThemeList } from './schemas.ts'

export const players: Slice = {
  schemas: [PlayerTheme, PlayerThemeList],
  routes: playerRoutes,
  publicRoutes: embedRoutes,
}
