import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Access, checkAccess, type Media, openSession } from '../access/check.ts'
import type { Context } from '../context.ts'

type PageAccess = {
  token: string | undefined
  access: Access
  /** Whether the session is open. Before, the page has no URLs of media. */
  isOpen: boolean
}

/**
 * Opens the page of a video or live stream for a viewer. A token is not used up until there is something to play. Undefined
 * if the viewer may not see it.
 */
export async function openPage(
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  media: Media,
  isPlayable: boolean,
): Promise<PageAccess | undefined> {
  // The route has no schema, so query parameters are lists.
  const { token: tokens } = request.query as { token?: string[] }
  const token = (!media.public && tokens?.[0]) || undefined
  const asked = { request, media, token, isStart: true }
  const grant = await checkAccess(context, asked)
  if (!grant) return undefined
  if (grant.unusedToken !== undefined && !isPlayable) return { token, access: grant.access, isOpen: false }
  const access = await openSession(context, reply, asked, grant)
  return access && { token, access, isOpen: true }
}
