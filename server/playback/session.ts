import { accessDenied, checkAccess, newSessionId, openSession } from '../access/check.ts'
import type { Context } from '../context.ts'
import { notFound } from '../lib/errors.ts'
import type { App } from '../lib/http.ts'
import { isId } from '../lib/ids.ts'
import { videoMedium, videoPath } from '../videos/paths.ts'
import { type Params, routeMedia } from './serve.ts'
import { findAsset } from './store.ts'

/** Gives players without cookies the session of a token, which they append to every URL as `avh`. */
export function sessionRoute(app: App, context: Context): void {
  routeMedia(app, `${videoPath(':videoId')}/token/:token/session`, async (request, reply) => {
    const { videoId, token } = request.params as Params
    const asset = isId('vi', videoId) ? await findAsset(context.db, videoId) : undefined
    if (!asset) throw notFound('videoId')
    const medium = videoMedium({ id: videoId, ...asset })
    const asked = { request, medium, token, isStart: true }
    const grant = await checkAccess(context, asked)
    const access = grant && (await openSession(context, reply, asked, grant))
    if (!access) throw accessDenied(token)
    // Players request a session whenever they have a token, even where none is needed.
    const session = new URLSearchParams(access.query).get('avh') ?? newSessionId()
    return reply.send({ session_token: session })
  })
}
