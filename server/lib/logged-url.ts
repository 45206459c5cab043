import type { FastifyRequest } from 'fastify'
import type { App } from './http.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The parameters of the path and of the query that are secrets, or that may contain one. */
    secrets?: readonly string[]
    /** Query parameters that may be logged, on a route without a schema of its query. */
    loggedQuery?: readonly string[]
  }
}

const hidden = '[secret]'

/** The segments of a route up to a secret: a text, `undefined` for any segment. The one after them is the secret. */
type Position = (string | undefined)[]

/**
 * Returns a function that writes the URL of a request for the log. Has to be called before the routes are registered,
 * because they declare the positions of secrets in paths.
 *
 * The positions are looked for in every path, also in one without a route: a client that misspells the end of the URL
 * sends the token all the same. The values of query parameters appear only if the route declares them.
 */
export function urlsForLog(app: App): (request: FastifyRequest) => string {
  const positions = new Map<string, Position>()
  app.addHook('onRoute', ({ url, config }) => {
    for (const position of positionsOf(url, config?.secrets ?? []))
      positions.set(position.join('/'), position)
  })
  return ({ originalUrl, routeOptions: { config, schema } }) => {
    const [path = '', ...pairs] = originalUrl.split(/[?#&]/)
    const shownPath = showPath(path, positions)
    if (pairs.length === 0) return shownPath
    const { properties = {} } = (schema?.querystring ?? {}) as { properties?: object }
    const isShown = (name: string) =>
      (Object.hasOwn(properties, name) || (config?.loggedQuery?.includes(name) ?? false)) &&
      !config?.secrets?.includes(name)
    return `${shownPath}?${pairs.map((pair) => showPair(pair, isShown)).join('&')}`
  }
}

function positionsOf(url: string, secrets: readonly string[]): Position[] {
  const segments = url.split('/').filter(Boolean)
  return segments.flatMap((segment, i) =>
    secrets.includes(/^:(\w+)/.exec(segment)?.[1] ?? '')
      ? [segments.slice(0, i).map((each) => (each.startsWith(':') ? undefined : each.toLowerCase()))]
      : [],
  )
}

/** At any depth, since the path may begin with a prefix of a proxy or of the dashboard. */
function showPath(path: string, positions: Map<string, Position>): string {
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== '.')
  const decoded = segments.map((segment) => decode(segment)?.toLowerCase())
  const shown = segments.map((segment, i) => (isPlain(decoded[i]) ? segment : hidden))
  for (const position of positions.values())
    for (let end = position.length; end < segments.length; end++) {
      const from = end - position.length
      if (position.every((text, i) => text === undefined || text === decoded[from + i])) shown[end] = hidden
    }
  return `/${shown.join('/')}`
}

/** A segment or a value with encoded punctuation may contain a whole URL with a token, such as one that was searched for. */
const isPlain = (text: string | undefined) => text !== undefined && !/[/\\?#&=%]/.test(text)

function showPair(pair: string, isShown: (name: string) => boolean): string {
  const equals = pair.indexOf('=')
  if (equals < 0) return hidden
  const name = decode(pair.slice(0, equals)) ?? ''
  // Lists and objects are sent as `tags[]=…` and `metadata[key]=…`.
  if (isShown(name.split('[', 1)[0]!) && isPlain(decode(pair.slice(equals + 1)))) return pair
  return /^[\w.[\]-]{1,40}$/.test(name) ? `${name}=${hidden}` : hidden
}

function decode(text: string): string | undefined {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
