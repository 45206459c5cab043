import type { Slice } from '../slice.ts'
import { livePageRoutes } from './playback/page.ts'
import { liveMediaRoutes } from './playback/routes.ts'
import { Views } from './playback/views.ts'

export const live: Slice = {
  async publicRoutes(app, context) {
    const views = new Views(context)
    liveMediaRoutes(app, context, views)
    await livePageRoutes(app, context, views)
  },
}
