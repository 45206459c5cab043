import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { startCache } from '../../bench/nginx.ts'
import type { FlvTag } from '../../server/live/media/flv-stream.ts'
import {
  call,
  kinora,
  type Service,
  settingsOf,
  startKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { makeSource, RtmpEncoder, stayConnected } from '../support/live/encoders.ts'
import { createLiveStream } from '../support/live/live-streams.ts'

// Live streams behind nginx with deploy/nginx-cache.conf. Videos: test/playback/caching-proxy.test.ts.

type Cache = NonNullable<Awaited<ReturnType<typeof startCache>>>

const viewers = 20
/** A playlist expires after a second. On a busy machine, a viewer may be later than that, and causes another request. */
const fewRequests = 5
/** Shared caches keep it, browsers do not. */
const shared = 'public, max-age=0, s-maxage=1'

let service: Service
let cache: Cache | undefined
let folder: string
let source: FlvTag[]
const ends: (() => unknown)[] = []

before(async () => {
  folder = await temporaryFolder({ after })
  service = await kinora({ after: (end) => ends.push(end) })
  cache = await startCache(folder, service.url)
  if (cache) source = makeSource()
})
after(async () => {
  await cache?.close()
  for (const end of ends) await end()
})

/** A test with the cache, which is skipped without nginx. */
const cached = (title: string, run: (t: TestContext, cache: Cache) => Promise<void>) =>
  test(title, async (t) => (cache ? run(t, cache) : t.skip('nginx is not installed')))

async function get(url: string | URL, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, cache: response.headers.get('x-cache') }
}

/** A broadcast of six seconds whose encoder stays connected. Everything is requested through the cache. */
async function broadcast(t: TestContext, { url }: Cache) {
  const stream = await createLiveStream(service, { record: false })
  const encoder = await RtmpEncoder.connect(service, stream.streamKey)
  await encoder.send(source)
  const stopSending = stayConnected(encoder, source)
  const master = url + new URL(stream.assets.hls).pathname
  let text = ''
  await waitFor(async () => {
    const response = await get(master)
    text = response.text
    return response.status === 200
  })
  const playlist = new URL(/^\S+index\.m3u8$/m.exec(text)![0], master)
  let hint = ''
  await waitFor(async () => {
    hint = /PRELOAD-HINT:TYPE=PART,URI="(2-1[^"]+)"/.exec((await get(playlist)).text)?.[1] ?? ''
    return hint !== ''
  })
  const [, sequence, part] = /^(\d+)-1\.(\d+)\.m4s$/.exec(hint) ?? []
  let isConnected = true
  const disconnect = async () => {
    stopSending()
    if (isConnected) await encoder.abort()
    isConnected = false
  }
  t.after(disconnect)
  const complete = () =>
    call(`${service.url}/live-streams/${stream.liveStreamId}/complete`, { method: 'PUT' })
  const next = `_HLS_msn=${sequence}&_HLS_part=${part}`
  return { ...stream, encoder, master, playlist, next, hint: new URL(hint, playlist), disconnect, complete }
}

/** Sends requests of many viewers, and returns how to wait for their responses. */
function watch(url: string, headers: Record<string, string> = {}) {
  const requests = Array.from({ length: viewers }, (_, n) =>
    get(`${url}&viewer=${n}`, { ...headers, cookie: `viewer=${n}`, origin: `https://${n}.example` }),
  )
  return Promise.all(requests)
}

async function loadsOf({ loads }: Cache, { pathname }: URL, query = '') {
  return (await loads()).filter(({ path }) => path.startsWith(`${pathname}${query}`))
}

describe('live streams behind a caching nginx', () => {
  cached(
    'viewers who wait for the same part share requests for the playlist, and one for the part',
    async (t, cache) => {
      const { encoder, playlist, next, hint } = await broadcast(t, cache)
      const reloads = watch(`${playlist}?${next}&_HLS_skip=YES`)
      // Other players write the parameters in another order.
      const others = watch(`${playlist}?_HLS_skip=v2&${next.split('&').toReversed().join('&')}`)
      const parts = watch(`${hint}?`)
      const ranges = watch(`${hint}?`, { range: 'bytes=0-99' })
      await encoder.send(source, 6_000)
      const texts = [...(await reloads), ...(await others)]
      for (const { status, text, headers } of texts) {
        assert.deepEqual([status, headers.get('cache-control')], [200, shared])
        assert.equal(text, texts[0]!.text)
        assert.ok(text.includes(hint.pathname.split('/').at(-1)!))
        for (const name of ['set-cookie', 'vary']) assert.equal(headers.get(name), null)
        assert.equal(headers.get('access-control-allow-origin'), '*')
      }
      for (const { status, text } of await parts) assert.ok(status === 200 && text.length > 100)
      for (const { status, headers } of await ranges)
        assert.deepEqual([status, headers.get('content-range')?.startsWith('bytes 0-99/')], [206, true])
      const reloaded = await loadsOf(cache, playlist, `?${next}&_HLS_skip=YES`)
      assert.ok(reloaded.length >= 1 && reloaded.length <= fewRequests, `${reloaded.length} requests`)
      assert.equal((await loadsOf(cache, hint)).length, 1)
    },
  )

  cached(
    'viewers who wait while the encoder is away share requests, and all get the last playlist',
    async (t, cache) => {
      const { playlist, hint, disconnect } = await broadcast(t, cache)
      await disconnect()
      // The part that the encoder has begun is completed.
      let next = ''
      await waitFor(async () => {
        const { text } = await get(playlist)
        const [, sequence, part] = /PRELOAD-HINT:TYPE=PART,URI="(\d+)-1\.(\d+)\.m4s"/.exec(text) ?? []
        next = `_HLS_msn=${sequence}&_HLS_part=${part}`
        return !text.includes(`HINT:TYPE=PART,URI="${hint.pathname.split('/').at(-1)}"`)
      })
      for (const { status, text, headers } of await watch(`${playlist}?${next}`)) {
        assert.deepEqual([status, headers.get('cache-control')], [200, shared])
        assert.doesNotMatch(text, /ENDLIST/)
      }
      const { length } = await loadsOf(cache, playlist, `?${next}`)
      assert.ok(length >= 1 && length <= fewRequests, `${length} requests`)
    },
  )

  cached('a playlist continues after a reconnect, and ends with the broadcast', async (t, cache) => {
    const { streamKey, playlist, disconnect, complete } = await broadcast(t, cache)
    await disconnect()
    const again = await RtmpEncoder.connect(service, streamKey)
    t.after(() => again.abort())
    await again.send(source)
    await waitFor(async () => /init-2\.mp4/.test((await get(playlist)).text))
    const hint = new URL(
      /PRELOAD-HINT:TYPE=PART,URI="([^"]+)"/.exec((await get(playlist)).text)![1]!,
      playlist,
    )
    const [, sequence, part] = /(\d+)-2\.(\d+)\.m4s$/.exec(hint.pathname) ?? []
    const reloads = watch(`${playlist}?_HLS_msn=${sequence}&_HLS_part=${part}`)
    await complete()
    for (const { status } of await reloads) assert.equal(status, 200)
    await waitFor(async () => /#EXT-X-ENDLIST/.test((await get(playlist)).text))
  })

  cached('private live streams are not cached, and a stream that becomes private stops', async (t, cache) => {
    const { liveStreamId, playlist, master, hint } = await broadcast(t, cache)
    const segment = new URL('0-1.m4s', playlist)
    assert.equal((await get(segment)).status, 200)
    const { assets } = (
      await call(`${service.url}/live-streams/${liveStreamId}`, { method: 'PATCH', json: { public: false } })
    ).body
    // The playlists expire, and no viewer waits for them.
    for (const url of [playlist, master]) await waitFor(async () => (await get(url)).status === 403)
    assert.equal((await get(new URL('1-1.m4s', playlist))).status, 403)
    assert.equal((await get(hint)).status, 403)
    const own = new URL(new URL(assets.hls).pathname, cache.url)
    const opened = await get(own)
    assert.deepEqual([opened.status, opened.cache], [200, null])
    const [line = ''] = /^\S+index\.m3u8\S*$/m.exec(opened.text) ?? []
    const mine = new URL(line, own)
    for (const attempt of [1, 2]) {
      const { status, headers, cache } = await get(mine)
      assert.deepEqual(
        [status, headers.get('cache-control'), cache],
        [200, 'private, max-age=1', null],
        `${attempt}`,
      )
    }
    assert.equal((await get(mine.origin + mine.pathname)).status, 404, 'without the session')
  })

  cached(
    'while the service is down, viewers get the last playlist and the parts that the cache has',
    async (t, cache) => {
      const settings = { ...settingsOf(service), KINORA_ROLES: 'api' }
      const another = await startKinora(settings)
      const inFront = await startCache(`${folder}/another`, another.url)
      t.after(async () => {
        await another.stop()
        await inFront?.close()
      })
      const { playlist } = await broadcast(t, { ...cache, ...inFront })
      const segment = new URL('0-1.m4s', playlist)
      assert.equal((await get(segment)).status, 200)
      await another.stop()
      await waitFor(async () => (await get(playlist)).cache === 'STALE')
      assert.equal((await get(segment)).cache, 'HIT')
      assert.equal((await get(`${playlist}?_HLS_msn=3&_HLS_part=0`)).status, 502)
    },
  )
})
