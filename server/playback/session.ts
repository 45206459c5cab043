import { accessDenied, checkAccess, type MediaKind, newSessionId, openSession } from '../access/check.ts'
import type { Context } from '../context.ts'
import { notFound } from '../lib/errors.ts'
import type { App } from '../lib/http.ts'
import { isId } from '../lib/ids.ts'
import { routeMedia } from './serve.ts'
import type { Asset } from './store.ts'

/** Gives players without cookies the session of a token, which they append to every URL as `avh`. */
export function sessionRoute(
  app: App,
  context: Context,
  kind: MediaKind,
  find: (id: string) => Promise<Asset | undefined>,
): void {
  const { parameter, prefix, privatePath } = kind
  routeMedia(app, `${privatePath(`:${parameter}`, ':token')}/session`, async (request, reply) => {
    const { [parameter]: id = '', token } = request.params as Record<string, string>
    const asset = isId(prefix, id) ? await find(id) : undefined
    if (!asset) throw notFound(parameter)
    const { environment, public: isPublic } = asset
    const asked = { request, media: { kind, id, environment, public: isPublic }, token, isStart: true }
    const grant = await checkAccess(context, asked)
    const access = grant && (await openSession(context, reply, asked, grant))
    if (!access) throw accessDenied(token)
    // Players request a session whenever they have a token, even where none is needed.
    const session = new URLSearchParams(access.query).get('avh') ?? newSessionId()
    return reply.send({ session_token: session })
  })
}
