import type { Slice } from '../slice.ts'
import { livePlaybackRoutes } from './playback/routes.ts'

export const live: Slice = { publicRoutes: livePlaybackRoutes }
