import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { buildRoutes } from '../../scripts/openapi.ts'
import { callRaw, sharedKinora, waitFor } from '../support/harness.ts'

// Parameters that anyone with access to the log may read. Add a new one here only if nobody can do anything with it.
// Otherwise the route declares it: `config: { secrets: ['…'] }`.
const harmlessInPaths = new Set(
  `videoId liveStreamId importId broadcastId playerId watermarkId summaryId webhookId eventId deliveryId studioTokenId signingKeyId sessionId keyId
  language rendition quality file environment name slug metric aggregation breakdown key *`.split(/\s+/),
)
const harmlessInQueries = new Set(
  `videoId liveStreamId playerId title description search name value tags metadata include events type origin
  sourceStatus filter filterBy dimension by period from to createdAfter createdBefore sortBy sortOrder format
  status state`.split(/\s+/),
)

type Route = { method: string; url: string; query: string[]; isSilent: boolean }

const secret = 's3cr3t-V4lue.x_y'
/** The same, with a percent-encoded letter. */
const encodedSecret = secret.replace('V', '%56')

describe('the log of requests', () => {
  const service = sharedKinora({ KINORA_LOG_LEVEL: 'debug', KINORA_ROLES: 'api,live' })
  const routes: Route[] = []

  before(async () => {
    const app = await buildRoutes(async (app) => {
      app.addHook('onRoute', ({ method, url, schema, logLevel }) => {
        const { properties = {} } = (schema?.querystring ?? {}) as { properties?: Record<string, Schema> }
        const query = Object.keys(properties).filter((name) => isFreeText(properties[name]!))
        for (const each of [method].flat())
          routes.push({ method: each, url, query, isSilent: logLevel === 'silent' })
      })
    })
    await app.close()
  })

  /** Sends a request and returns its line in the log. */
  const lineOf = async (method: string, path: string, headers: Record<string, string> = {}) => {
    const response = await callRaw(service.url, path, { method, headers })
    const id = response.headers.get('x-request-id')
    assert.ok(id, `${method} ${path} was answered before the request was logged`)
    await waitFor(() => service.output().includes(id))
    return service
      .output()
      .split('\n')
      .find((line) => line.includes(id))!
  }
  const assertHidden = (line: string, sent: string) => {
    assert.ok(!line.includes(secret) && !line.includes(encodedSecret), `${sent} is logged as ${line}`)
    assert.match(line, /\[secret\]/)
  }

  test('no route logs the secrets of its URL', async () => {
    const withSecrets = new Set<string>()
    for (const { method, url, query, isSilent } of routes) {
      const inPath = url.replaceAll(/:(\w+)|\*/g, (text, name = text) =>
        harmlessInPaths.has(name) ? 'x' : secret,
      )
      const names = query.filter((name) => !harmlessInQueries.has(name))
      if (isSilent || (!inPath.includes(secret) && names.length === 0)) continue
      withSecrets.add(url)
      const sent = `${inPath}?${names.map((name) => `${name}=${secret}`).join('&')}`
      assertHidden(await lineOf(method, sent), `${method} ${sent}`)
    }
    for (const url of [
      '/live/private/:token/:liveStreamId.m3u8',
      '/vod/:videoId/token/:token/hls/manifest.m3u8',
      '/live-streams',
      '/upload-tokens/:uploadToken',
      '/upload',
      '/tus/:uploadId',
      '/oembed',
    ])
      assert.ok(withSecrets.has(url), `${url} was not tested`)
  })

  test('query parameters that a route does not have are not logged', async () => {
    const urls = new Set(
      routes.filter(({ isSilent }) => !isSilent).map(({ url }) => url.replaceAll(/:\w+|\*/g, 'x')),
    )
    for (const url of urls)
      assertHidden(await lineOf('GET', `${url}?token=${secret}&avh=${secret}&apiKey=${secret}`), url)
  })

  test('a secret is not logged in whatever way it is written', async () => {
    const paths = [
      `/live/private/${secret}/li1/session`,
      `/vod/vi1/token/${secret}/hls/manifest.m3u8`,
      `/upload-tokens/${secret}`,
      `/tus/vi1-${secret}`,
    ]
    for (const path of paths) {
      const nested = encodeURIComponent(`http://localhost${path}?token=${secret}`)
      for (const sent of [
        path.replace(secret, encodedSecret),
        path.replace(/(?<=\/)\w/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
        path.toUpperCase().replace(secret.toUpperCase(), secret),
        path.replaceAll('/', '//'),
        path.replaceAll('/', '/./'),
        `${path}/`,
        `${path}/misspelt/end`,
        `/sandbox${path}`,
        `/dashboard/api/production${path}`,
        `/dashboard/api/unknown${path}`,
        `/prefix/of/a/proxy${path}`,
        `http://localhost${path}`,
        `/x${encodeURIComponent(path)}`,
        `/vod/${encodeURIComponent(`x?token=${secret}`)}`,
        `/videos?title=x?token=${secret}`,
        `/videos?${secret}`,
        `/videos?${nested}`,
        `/videos?search=${nested}`,
        `/videos?metadata[url]=${encodeURIComponent(path)}`,
        `/dashboard/login#link=${secret}`,
        `/oembed?url=${nested}&format=json`,
        `/oembed?format=json&url=http://localhost${path}?token=${secret}#${secret}`,
        `/oembed?url=${encodeURIComponent(`http://localhost/oembed?url=${nested}`)}`,
        `/oembed/x?url=${nested}`,
        `/live-streams?stream%4bey=${secret}`,
        `/live-streams?streamKey[]=${secret}&streamKey%5B0%5D=${encodedSecret}`,
      ])
        assertHidden(await lineOf('GET', sent), sent)
    }
  })

  test('headers are not logged', async () => {
    const headers = { referer: `http://localhost/live/private/${secret}/li1`, cookie: `a=${secret}` }
    assert.ok(!(await lineOf('GET', '/videos', headers)).includes(secret))
    assert.ok(!(await lineOf('GET', '/missing', headers)).includes(secret))
  })

  test('everything else of a URL is logged', async () => {
    for (const url of [
      '/videos?title=tokens%20and%20keys&tags[]=a&metadata[viewer]=b&pageSize=25',
      '/vod/vi1/hls/720p/video-12.m4s',
      '/vod/vi1/mp4/source.mp4?dl=1',
      '/live/li1/br1/source/video.m3u8?_HLS_msn=12&_HLS_part=3',
      '/upload-tokens?sortBy=ttl',
      '/missing/page',
      '/',
    ])
      assert.equal(JSON.parse(await lineOf('GET', url)).url, url)
    const { url } = JSON.parse(
      await lineOf('GET', `/vod/vi1/token/${secret}/hls/manifest.m3u8?avh=${secret}&dl=1`),
    )
    assert.equal(url, '/vod/vi1/token/[secret]/hls/manifest.m3u8?avh=[secret]&dl=1')
  })
})

type Schema = { type?: string; enum?: unknown; anyOf?: Schema[]; items?: Schema }

/** Numbers, booleans and words of a list cannot be secrets. */
const isFreeText = ({ type, enum: words, items, anyOf }: Schema): boolean =>
  !words &&
  !['integer', 'number', 'boolean'].includes(type ?? '') &&
  !(items && !isFreeText(items)) &&
  !(anyOf && !anyOf.some(isFreeText))
