import { newSession, openAccess, refusal } from '../access/check.ts'
import type { Context } from '../context.ts'
import { notFound } from '../lib/errors.ts'
import type { App } from '../lib/http.ts'
import { isId } from '../lib/ids.ts'
import { type Params, routeMedia } from './serve.ts'
import * as store from './store.ts'

/** For players that have no cookies: the session of a token, to be put into every address of it as `avh`. */
export function sessionRoute(app: App, context: Context): void {
  routeMedia(app, '/vod/:videoId/token/:token/session', async (request, reply) => {
    const { videoId, token } = request.params as Params
    const video = isId('vi', videoId) ? await store.findPlayable(context.db, videoId) : undefined
    if (!video) throw notFound('videoId')
    const asked = { token, isStart: true }
    const access = await openAccess(context, request, reply, { id: videoId, ...video }, asked)
    if (!access) throw refusal(token)
    // Where no session is needed, any will do: players ask for one whenever they have a token.
    const session = new URLSearchParams(access.query).get('avh') ?? newSession()
    return reply.send({ session_token: session })
  })
}
