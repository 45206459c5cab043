import type { Slice } from '../slice.ts'
import { playbackRoutes } from './routes.ts'

export const playback: Slice = { publicRoutes: playbackRoutes }
