import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../context.ts'
import { cacheControlOf, loadAssets, sendAsset } from '../lib/assets.ts'
import { commandName } from '../lib/command-name.ts'
import { ApiError, httpErrors } from '../lib/errors.ts'
import type { App } from '../lib/http.ts'

const builtFolder = fileURLToPath(new URL('../../web/dashboard/dist', import.meta.url))
const hidden = { schema: { hide: true } }

/** The page, and the files that it loads. */
export async function dashboardPageRoutes(
  app: App,
  { config, log }: Pick<Context, 'config' | 'log'>,
  folder = builtFolder,
): Promise<void> {
  const html = await readPage(folder)
  const page = (html ?? notBuilt).replaceAll('__COMMAND__', commandName(process.env))
  const storeOrigin = config.s3?.isRedirecting ? new URL(config.s3.endpoint).origin : undefined
  if (html === undefined)
    log.warn('the dashboard has not been built, so its page is empty; npm start builds it')
  const files = html === undefined ? new Map() : await loadAssets(folder)

  app.get('/dashboard/assets/*', hidden, (request: FastifyRequest, reply: FastifyReply) => {
    // A lookup in memory: no path of a request reaches the disk.
    const name = `assets/${(request.params as { '*': string })['*']}`
    const asset = files.get(name)
    if (!asset) throw new ApiError(httpErrors.unknownUrl)
    return sendAsset(request, reply, asset, cacheControlOf(name))
  })

  const sendPage = (_request: FastifyRequest, reply: FastifyReply) => {
    const nonce = randomBytes(16).toString('base64')
    reply.headers(pageHeaders(nonce, storeOrigin))
    return reply.send(page.replaceAll('__NONCE__', nonce))
  }
  app.get('/dashboard', hidden, sendPage)
  app.get('/dashboard/*', hidden, (request: FastifyRequest, reply: FastifyReply) => {
    // Not a page: the URL of the API with an unknown environment.
    if (/^api(\/|$)/.test((request.params as { '*': string })['*'])) throw new ApiError(httpErrors.unknownUrl)
    return sendPage(request, reply)
  })
}

/** Undefined when the dashboard has not been built. */
async function readPage(folder: string): Promise<string | undefined> {
  try {
    return await readFile(join(folder, 'index.html'), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return undefined
  }
}

const notBuilt = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Kinora</title>
<h1>The dashboard has not been built</h1>
<p>Stop the service and run <code>npm start</code>, which builds it.</p>
</html>
`

/**
 * Everything comes from the address of this page, also if the public URL is another one. Only a file store to which the
 * service redirects serves images and captions itself.
 */
function pageHeaders(nonce: string, storeOrigin: string | undefined): Record<string, string> {
  const store = storeOrigin ? ` ${storeOrigin}` : ''
  const policy = [
    `default-src 'none'`,
    `script-src 'self'`,
    `style-src 'self' 'nonce-${nonce}'`,
    `img-src 'self' data: blob:${store}`,
    `frame-src 'self'`,
    `font-src 'self'`,
    `connect-src 'self'${store}`,
    `frame-ancestors 'none'`,
    `base-uri 'none'`,
    `form-action 'self'`,
    `object-src 'none'`,
  ]
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy.join('; '),
    'x-frame-options': 'DENY',
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-cache',
  }
}
