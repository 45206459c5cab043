import type { Slice } from '../slice.ts'
import { sentBytes } from './metrics.ts'
import { RepeatedResponses } from './repeated-responses.ts'
import { playbackRoutes } from './routes.ts'
import { visibilityChannel } from './store.ts'

export const playback: Slice = {
  metrics: [sentBytes],
  open(context) {
    const repeated = new RepeatedResponses(context)
    return {
      channels: { [visibilityChannel]: (videoId) => repeated.forget(videoId) },
      publicRoutes: (app, routeContext) => playbackRoutes(app, routeContext, repeated),
      repeat: (request, response, next) => repeated.answer(request, response, next),
    }
  },
}
