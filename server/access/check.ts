import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { accessErrors } from '../access/errors.ts'
import type { Context } from '../context.ts'
import { ApiError, notFound } from '../lib/errors.ts'
import { randomWord } from '../lib/ids.ts'
import { readToken } from './private-token.ts'
import { findSession, goingOnSeconds, openSession, type PlaybackSession } from './session-store.ts'
import { isSigned, makePass, maySigned, readPass, readSigned } from './signed-token.ts'

/** Where a viewer finds the media, and what each address ends in. */
export type Access = {
  /** `/vod/vi…`, or `/vod/vi…/token/…` */
  path: string
  /** `?avh=…` where there is a session, else nothing. */
  query: string
  /** Whether this request has opened the session. */
  isNew?: boolean
}

/** That a viewer may have what was asked for. It uses up a token as soon as it is made use of. */
export type Permit = {
  open(): Promise<Access | undefined>
  /** Whether opening uses up nothing. */
  isFree: boolean
}

type Asker = Pick<Context, 'config' | 'db' | 'now' | 'publicUrl' | 'secret'>
type Video = { id: string; public: boolean }
export type Asked = {
  token: string | undefined
  /** Of what begins a viewing (player page, master playlist, whole MP4), not of what goes on with it. */
  isStart: boolean
  /** Does not use up the token. So does no HEAD: it plays nothing. */
  isGlance?: boolean
  /** One address is asked for many times, also by players that keep neither a cookie nor where they were sent. */
  isRepeated?: boolean
}

/** Undefined: refused. Opens the session of a token where that is due, and sets its cookie on the reply. */
export async function openAccess(
  context: Asker,
  request: FastifyRequest,
  reply: FastifyReply,
  video: Video,
  asked: Asked,
): Promise<Access | undefined> {
  const permit = await checkAccess(context, request, reply, video, asked)
  return permit?.open()
}

/** What a refused viewer is told. */
export const refusal = (token: string | undefined) =>
  token === undefined ? new ApiError(accessErrors.privateVideo) : notFound('token')

/** The same without opening anything yet, for those who have first to see whether there is anything to play. */
export async function checkAccess(
  context: Asker,
  request: FastifyRequest,
  reply: FastifyReply,
  video: Video,
  asked: Asked,
): Promise<Permit | undefined> {
  const { token, isStart } = asked
  const plain = { path: `/vod/${video.id}`, query: '' }
  if (token === undefined) return video.public ? permitFor(plain) : undefined
  const path = `${plain.path}/token/${token}`

  if (isSigned(token)) {
    const claims = await readSigned(context, video.id, token)
    if (!claims) return undefined
    if (video.public) return permitFor(plain)
    const passes = valuesOf(request.query, 'avh').map((pass) => ({
      pass,
      begunAt: readPass(context, token, pass),
    }))
    const { pass, begunAt } = passes.find((each) => each.begunAt) ?? { pass: makePass(context, token) }
    if (!maySigned(context, request, claims, { isStart, begunAt })) return undefined
    return permitFor({ path, query: `?avh=${pass}`, isNew: begunAt === undefined })
  }

  const issuedAt = readToken(context.secret, video.id, token)
  if (!issuedAt) return undefined
  // Addresses that were given out while it was private go on working.
  if (video.public) return permitFor(plain)

  const judge = (session: PlaybackSession) =>
    mayGoOn(context, request, token, session, asked) ? { path, query: `?avh=${session.session}` } : undefined
  const used = await findSession(context.db, token)
  if (used) {
    const access = judge(used)
    return access && permitFor(access)
  }
  if (isOver(context, issuedAt, context.config.privateSessionSeconds)) return undefined
  return {
    isFree: false,
    async open() {
      // There is no session yet that could be named.
      if (asked.isGlance) return { path, query: '' }
      const session = newSession()
      if (request.method === 'HEAD') return { path, query: `?avh=${session}` }
      const opened = await openSession(context.db, {
        token,
        video_id: video.id,
        session,
        viewer: viewerOf(context, request),
        opened_at: context.now(),
      })
      // Who comes second by a moment is second all the same.
      if (opened?.session !== session) return opened && judge(opened)
      reply.header('set-cookie', cookieOf(context, video.id, token, session))
      return { path, query: `?avh=${session}`, isNew: true }
    },
  }
}

const permitFor = (access: Access): Permit => ({ isFree: true, open: async () => access })

export const newSession = () => randomWord(22)

/** The viewer who opened it shows the session, by address or cookie. */
function mayGoOn(
  context: Asker,
  request: FastifyRequest,
  token: string,
  { session, viewer, opened_at: openedAt }: PlaybackSession,
  { isStart, isRepeated }: Asked,
): boolean {
  const seconds = context.config.privateSessionSeconds + (isStart ? 0 : goingOnSeconds)
  if (isOver(context, openedAt, seconds)) return false
  const shown = [...valuesOf(request.query, 'avh'), ...cookiesOf(request, cookieName(token))]
  if (shown.some((each) => isSame(each, session))) return true
  // Some players ask for every range by the address that they were given, without cookies. What begins further in is of
  // no use to anybody who has not what comes before.
  const isGoingOn = isRepeated === true && isFurtherIn(request)
  return isGoingOn && timingSafeEqual(viewer, viewerOf(context, request))
}

const isOver = ({ now }: Asker, since: Date, seconds: number) =>
  now().getTime() >= since.getTime() + seconds * 1000

/** The index of an MP4 stands in front and is longer than this, if the video is worth anything. */
const beginningBytes = 16 * 1024

/**
 * Whether it is a part of a file without its beginning. What is no range brings the whole file, and one that is counted
 * from the end may.
 */
export function isFurtherIn({ headers: { range = '' } }: FastifyRequest): boolean {
  const [, from, to] = /^bytes=\s*(\d+)-(\d*)\s*$/i.exec(range) ?? []
  return Number(from) >= beginningBytes && (to === '' || Number(to) >= Number(from))
}

/** Not checked by a schema, a query holds lists. */
function valuesOf(query: unknown, name: string): string[] {
  const value = (query as Record<string, string | string[] | undefined>)[name]
  return value === undefined ? [] : [value].flat()
}

const isSame = (a: string, b: string) =>
  timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'))

/** Keyed, so that nobody who reads the table finds addresses by trying them all. */
const viewerOf = ({ secret }: Asker, { ip, headers }: FastifyRequest) =>
  createHmac('sha256', secret)
    .update(`viewer ${ip} ${headers['user-agent'] ?? ''}`)
    .digest()

/** One for each token, as somebody may watch the same video by another one. */
const cookieName = (token: string) => `kinora_${hash('sha256', token, 'hex').slice(0, 8)}`

function cookiesOf({ headers: { cookie = '' } }: FastifyRequest, name: string): string[] {
  return cookie
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1))
}

/** In a frame on a page of another site, browsers keep only cookies that say they are for that page alone. */
function cookieOf({ config, publicUrl }: Asker, videoId: string, token: string, session: string): string {
  const age = config.privateSessionSeconds + goingOnSeconds
  const isSecure = publicUrl().startsWith('https:')
  const kind = isSecure ? 'Secure; SameSite=None; Partitioned' : 'SameSite=Lax'
  return `${cookieName(token)}=${session}; Path=/vod/${videoId}; Max-Age=${age}; HttpOnly; ${kind}`
}
