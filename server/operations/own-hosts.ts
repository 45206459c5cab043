import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import type { Context } from '../context.ts'
import { ApiError, httpErrors } from '../lib/errors.ts'
import type { App } from '../lib/http.ts'

type Deps = Pick<Context, 'config' | 'publicUrl'>

/** Only operators and other processes use these. */
const internalPath = /^\/(?:dashboard|metrics|healthz|readyz|internal)(?:\/|$)/
/** Health checks come with any name, and tell nothing. Requests to `/internal` are signed. */
const namedPath = /^\/(?:dashboard|metrics)(?:\/|$)/

const corsHeaders = ['access-control-allow-origin', 'access-control-expose-headers']

/**
 * No page of another site may read or call what is for operators. Without CORS headers, browsers forbid it. That leaves
 * the owner of a name that is changed to the address of this service after the page was loaded (DNS rebinding), so the
 * dashboard and the metrics answer at the names of the service only.
 *
 * Has to run before the CORS plugin is registered.
 */
export function protectInternalRoutes(app: App, deps: Deps): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const path = pathOf(request)
    if (request.method === 'OPTIONS' && internalPath.test(path))
      throw new ApiError(httpErrors.methodNotAllowed)
    if (namedPath.test(path) && !isOwnHost(request.headers.host, deps))
      throw new ApiError(httpErrors.hostNotAllowed)
    // The prefixes of the environments are for the API. A proxy that hides /metrics does not know /sandbox/metrics.
    if (request.requiredEnvironment !== undefined && internalPath.test(decodedPath(request.url)))
      throw new ApiError(httpErrors.unknownUrl)
    done()
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    if (internalPath.test(pathOf(request))) for (const name of corsHeaders) reply.removeHeader(name)
    done(null, payload)
  })
}

/** Also of a URL without a route. */
const pathOf = ({ dashboardEnvironment, url }: FastifyRequest): string =>
  dashboardEnvironment === undefined ? decodedPath(url) : '/dashboard'

/** The router decodes percent-encoded letters. */
function decodedPath(url: string): string {
  const [path = ''] = url.split(/[?#]/, 1)
  try {
    return path.includes('%') ? decodeURIComponent(path) : path
  } catch {
    // The router decodes everything but reserved characters, and rejects what cannot be decoded.
    return path
  }
}

/**
 * An attacker needs a name that resolves to an address of their choice, so IP addresses and localhost are safe. The Host
 * header decides: scripts cannot set it, but they can set X-Forwarded-Host. Browsers always send it.
 */
export function isOwnHost(header: string | undefined, { config, publicUrl }: Deps): boolean {
  if (!header) return true
  const [, text] = /^(\[[\da-f:.]+\]|[\w.-]+)(?::\d+)?$/i.exec(header) ?? []
  const hostname = text && URL.parse(`http://${text}`)?.hostname
  if (!hostname) return false
  const name = hostname.replace(/\.$/, '')
  return (
    isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0 ||
    name === 'localhost' ||
    name.endsWith('.localhost') ||
    name === new URL(publicUrl()).hostname ||
    config.allowedHosts.includes(name) ||
    config.acme?.domains.includes(name) === true
  )
}
