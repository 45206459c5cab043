import { hash } from 'node:crypto'
import type { Context } from '../../../context.ts'
import { notFound } from '../../../lib/errors.ts'
import type { App } from '../../../lib/http.ts'
import { type Static, Type } from '../../../lib/schema.ts'
import { isSignedFeedRequest } from '../../state/feed/signature.ts'
import type { Refused } from '../publisher.ts'
import type { WhipAnswer, WhipServer } from './server.ts'

export const internalPath = '/internal/live/whip'

/** What the signature of a question covers. */
export const claimOf = (body: string) => ({ id: `whip ${hash('sha256', body)}`, fence: 0 })

const Question = Type.Object({
  action: Type.String(),
  streamKey: Type.Optional(Type.String()),
  sdp: Type.Optional(Type.String()),
  sessionId: Type.Optional(Type.String()),
})

export type InternalAnswer = { answer?: WhipAnswer; refusal?: Refused; isFound?: boolean }

/** What other processes of the service ask one that receives WebRTC. Nobody else knows that it exists. */
export function whipInternalRoutes(
  app: App,
  { config, now, secret }: Pick<Context, 'config' | 'now' | 'secret'>,
  server: () => WhipServer | undefined,
): void {
  if (!config.roles.has('live')) return
  const options = {
    schema: { hide: true, body: Question },
    logLevel: 'silent',
    bodyLimit: 128 * 1024,
  } as const
  app.post(internalPath, options, async ({ body, headers }) => {
    const claim = claimOf(JSON.stringify(body))
    const local = server()
    if (!isSignedFeedRequest(secret, claim, headers.authorization, now()) || !local) throw notFound('path')
    return answer(local, body)
  })
}

async function answer(server: WhipServer, question: Static<typeof Question>): Promise<InternalAnswer> {
  const { action, streamKey, sdp, sessionId = '' } = question
  if (action === 'end') return { isFound: server.end(sessionId) }
  if (action === 'find') return { isFound: server.has(sessionId) }
  if (streamKey === undefined || sdp === undefined) return {}
  const answer = await server.offer(streamKey, sdp)
  return 'refused' in answer ? { refusal: answer } : { answer }
}
