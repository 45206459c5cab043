import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import { parseCookie } from 'cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../context.ts'
import type { Environment } from '../environments.ts'
import { ApiError, notFound } from '../lib/errors.ts'
import { randomWord } from '../lib/ids.ts'
import { accessErrors } from './errors.ts'
import { readToken } from './private-token.ts'
import type { PlaybackSession } from './session-store.ts'
import { createSession, findSession, graceSeconds } from './sessions.ts'
import {
  isSignedToken,
  maySignedTokenPlay,
  newResumeToken,
  readResumeToken,
  readSignedToken,
} from './signed-token.ts'

type Deps = Pick<Context, 'config' | 'db' | 'now' | 'publicUrl' | 'secret'>

/** Videos or live streams: what their ids begin with, and the paths of their files. */
export type MediaKind = {
  prefix: 'vi' | 'li'
  /** The id in the URLs of routes and in errors. */
  parameter: 'videoId' | 'liveStreamId'
  /** Starts the paths of all files, such as `/vod/vi…`. */
  path(id: string): string
  /** The same for the viewer with a token. */
  privatePath(id: string, token: string): string
  /** Contains both. */
  cookiePath(id: string): string
}

/** A video or a live stream. */
export type Media = { kind: MediaKind; id: string; environment: Environment; public: boolean }

/** A viewer's request for a file of a video or live stream, or for its player page. */
export type AccessRequest = {
  request: FastifyRequest
  media: Media
  token: string | undefined
  /** A request that starts to play: player page, master playlist or entire MP4. All others continue. */
  isStart: boolean
  /** Thumbnails and sprites need the token, but do not use it up. */
  isPreview?: boolean
  /** The player requests one URL many times, by ranges, perhaps without keeping cookies or following redirects. */
  isProgressive?: boolean
}

/** The URLs by which a viewer gets the files. */
export type Access = {
  /** `/vod/vi…` or `/vod/vi…/token/…` */
  path: string
  /** `?avh=…` if there is a session, else empty. */
  query: string
  /** Whether this request opened the session. */
  isNew?: boolean
}

/** The viewer may see the video or live stream. A private token that nobody has used yet is used up by `openSession`. */
export type Grant = { access: Access; unusedToken?: string }

/** Undefined if the viewer may not see it. Changes nothing, so that a token is not used up for a 404 or 202. */
export async function checkAccess(context: Deps, asked: AccessRequest): Promise<Grant | undefined> {
  const { media, token } = asked
  const open: Grant = { access: { path: media.kind.path(media.id), query: '' } }
  if (token === undefined) return media.public ? open : undefined
  if (isSignedToken(token)) return checkSignedToken(context, asked, token)
  const issuedAt = readToken(context.secret, media.id, token)
  if (!issuedAt) return undefined
  // URLs that were given out while the video was private keep working.
  if (media.public) return open
  const session = await findSession(context.db, token)
  if (session) return checkSession(context, asked, token, session)
  if (isOver(context, issuedAt, context.config.privateSessionSeconds)) return undefined
  return { access: { path: media.kind.privatePath(media.id, token), query: '' }, unusedToken: token }
}

/** The first use of a private token opens its session and sets the cookie. Undefined if another viewer was first. */
export async function openSession(
  context: Deps,
  reply: FastifyReply,
  asked: AccessRequest,
  { access, unusedToken: token }: Grant,
): Promise<Access | undefined> {
  const { request, media } = asked
  if (token === undefined || asked.isPreview) return access
  const session = newSessionId()
  // HEAD plays nothing.
  if (request.method === 'HEAD') return { ...access, query: `?avh=${session}` }
  const row = {
    token,
    mediaId: media.id,
    session,
    viewer: fingerprintOf(context, request),
    opened_at: context.now(),
  }
  const opened = await createSession(context.db, row)
  if (!opened) return undefined
  if (opened.session !== session) return checkSession(context, asked, token, opened)?.access
  reply.header('set-cookie', formatCookie(context, media, token, session))
  return { ...access, query: `?avh=${session}`, isNew: true }
}

export const accessDenied = (token: string | undefined) =>
  token === undefined ? new ApiError(accessErrors.privateVideo) : notFound('token')

export const newSessionId = () => randomWord(22)

async function checkSignedToken(
  context: Deps,
  { request, media, isStart }: AccessRequest,
  token: string,
): Promise<Grant | undefined> {
  const claims = await readSignedToken(context, media, token)
  if (!claims) return undefined
  if (media.public) return { access: { path: media.kind.path(media.id), query: '' } }
  const resumed = queryValues(request, 'avh')
    .map((resumeToken) => ({ resumeToken, startedAt: readResumeToken(context, token, resumeToken) }))
    .find(({ startedAt }) => startedAt)
  const startedAt = resumed?.startedAt
  if (!maySignedTokenPlay(context, request, claims, { isStart, startedAt })) return undefined
  const resumeToken = resumed?.resumeToken ?? newResumeToken(context, token)
  const path = media.kind.privatePath(media.id, token)
  return { access: { path, query: `?avh=${resumeToken}`, isNew: startedAt === undefined } }
}

/** Only the viewer who opened the session may continue it: the URL or the cookie shows its id. */
function checkSession(
  context: Deps,
  asked: AccessRequest,
  token: string,
  { session, viewer, opened_at: openedAt }: PlaybackSession,
): Grant | undefined {
  const { request, media, isStart, isProgressive } = asked
  const grant = { access: { path: media.kind.privatePath(media.id, token), query: `?avh=${session}` } }
  const seconds = context.config.privateSessionSeconds + (isStart ? 0 : graceSeconds)
  if (isOver(context, openedAt, seconds)) return undefined
  const cookie = parseCookie(request.headers.cookie ?? '')[cookieName(token)]
  const shown = [...queryValues(request, 'avh'), ...(cookie === undefined ? [] : [cookie])]
  if (shown.some((each) => isEqual(each, session))) return grant
  // Some players request every range by the first URL and without cookies. Later ranges of a file are useless to
  // anyone who does not have its beginning.
  const isContinued = isProgressive === true && isLaterRange(request)
  return isContinued && timingSafeEqual(viewer, fingerprintOf(context, request)) ? grant : undefined
}

const isOver = ({ now }: Deps, since: Date, seconds: number) =>
  now().getTime() >= since.getTime() + seconds * 1000

/** The index at the beginning of an MP4 is longer than this, unless the video is very short. */
const beginningBytes = 16 * 1024

/**
 * Whether a request is for a part of a file without its beginning. An invalid range brings the entire file, and one that
 * counts from the end may.
 */
export function isLaterRange({ headers: { range = '' } }: FastifyRequest): boolean {
  const [, from, to] = /^bytes=\s*(\d+)-(\d*)\s*$/i.exec(range) ?? []
  return Number(from) >= beginningBytes && (to === '' || Number(to) >= Number(from))
}

/** These routes have no schema, so a query parameter may be a list. */
function queryValues({ query }: FastifyRequest, name: string): string[] {
  const value = (query as Record<string, string | string[] | undefined>)[name]
  return value === undefined ? [] : [value].flat()
}

const isEqual = (a: string, b: string) =>
  timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'))

/** Keyed, so that a reader of the table cannot find IP addresses by trying all of them. */
const fingerprintOf = ({ secret }: Deps, { ip, headers }: FastifyRequest) =>
  createHmac('sha256', secret)
    .update(`viewer ${ip} ${headers['user-agent'] ?? ''}`)
    .digest()

/** One cookie for each token, as a browser may watch the same video by several tokens. */
const cookieName = (token: string) => `kinora_${hash('sha256', token, 'hex').slice(0, 8)}`

/**
 * In a frame on a page of another site, browsers keep only partitioned cookies. Not made by `cookie`, which writes the
 * attributes in another order.
 */
function formatCookie(
  { config, publicUrl }: Deps,
  { kind, id }: Media,
  token: string,
  session: string,
): string {
  const maxAge = config.privateSessionSeconds + graceSeconds
  const isSecure = publicUrl().startsWith('https:')
  const sameSite = isSecure ? 'Secure; SameSite=None; Partitioned' : 'SameSite=Lax'
  return `${cookieName(token)}=${session}; Path=${kind.cookiePath(id)}; Max-Age=${maxAge}; HttpOnly; ${sameSite}`
}
