import type { Slice } from '../slice.ts'
import { sentBytes } from './metrics.ts'
import { playbackRoutes } from './routes.ts'

export const playback: Slice = { metrics: [sentBytes], publicRoutes: playbackRoutes }
