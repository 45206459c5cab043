import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, beforeEach, describe, type TestContext, test } from 'node:test'
import { startCache } from '../../bench/nginx.ts'
import {
  call,
  kinora,
  query,
  root,
  type Service,
  startKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { film, makeVideo, mp4Of, onDisk, pathOf, segments } from '../support/stored-video.ts'

// Videos behind nginx with deploy/nginx-cache.conf. Live streams: test/live/caching-proxy.test.ts.

type Cache = NonNullable<Awaited<ReturnType<typeof startCache>>>

let service: Service
let cache: Cache | undefined
let folder: string
let videoId: string
const ends: (() => unknown)[] = []

before(async () => {
  folder = await temporaryFolder({ after })
  service = await kinora({ after: (end) => ends.push(end) })
  cache = await startCache(folder, service.url)
})
after(async () => {
  await cache?.close()
  for (const end of ends) await end()
})
beforeEach(async () => {
  videoId = await makeVideo(service, onDisk(service))
})

/** A test with the cache, which is skipped without nginx. */
const cached = (title: string, run: (cache: Cache, t: TestContext) => Promise<void>) =>
  test(title, async (t) => (cache ? run(cache, t) : t.skip('nginx is not installed')))

async function get(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers, redirect: 'manual' })
  const bytes = Buffer.from(await response.arrayBuffer())
  return { status: response.status, headers: response.headers, bytes, cache: response.headers.get('x-cache') }
}

const master = () => `/vod/${videoId}/hls/manifest.m3u8`
const media = () => `/vod/${videoId}/hls/240p/manifest.m3u8`
/** Leaves the video with these segments of an encoding that is not complete. */
async function setEncoding(sizes: number[]): Promise<void> {
  await query(service.database, 'update segments set sizes = $2 where video_id = $1', [videoId, sizes])
  await query(
    service.database,
    `update encodings set state = 'encoding', finished_at = null where video_id = $1`,
    [videoId],
  )
}

const patch = (json: object) => call(`${service.url}/videos/${videoId}`, { method: 'PATCH', json })

/** Runs the command of the docs that removes a video from the cache. */
async function purge(): Promise<void> {
  const docs = await readFile(join(root, 'docs/delivery.md'), 'utf8')
  const [, command] = /```sh\n(find \/var\/cache\/nginx.*?)```/s.exec(docs) ?? []
  assert.ok(command, 'docs/delivery.md has the command')
  execFileSync('sh', ['-c', command.replaceAll('/var/cache/nginx', folder)], {
    env: { ...process.env, VIDEO_ID: videoId },
  })
}

describe('behind a caching nginx', () => {
  cached('public media are loaded once, whatever else viewers send', async ({ url }) => {
    const script = /src="(\/player\/[^"]+\.js)"/.exec(
      (await get(`${service.url}/vod/${videoId}`)).bytes.toString(),
    )
    const paths = [master(), media(), `/vod/${videoId}/hls/240p/init.mp4`, pathOf(videoId, 1), mp4Of(videoId)]
    for (const path of [...paths, `/vod/${videoId}`, ...(script ? [script[1]!] : [])]) {
      const first = await get(url + path)
      assert.deepEqual([first.status, first.cache], [200, script?.[1] === path ? first.cache : 'MISS'], path)
      const viewer = {
        cookie: 'a=b',
        origin: 'https://example.com',
        authorization: 'Bearer x',
        'user-agent': 'x',
      }
      const again = await get(`${url + path}?metadata[user]=1&x=y`, viewer)
      assert.deepEqual([again.status, again.cache], [200, 'HIT'], path)
      assert.ok(again.bytes.equals(first.bytes), path)
      // The cache changes nothing that the service says about the content.
      const direct = await get(service.url + path)
      const own = [
        'connection',
        'date',
        'keep-alive',
        'x-request-id',
        'content-length',
        'transfer-encoding',
        'vary',
      ]
      for (const [name, value] of direct.headers)
        if (!own.includes(name))
          assert.equal(again.headers.get(name)?.replace(/^W\//, ''), value, `${path}: ${name}`)
      assert.equal(again.headers.get('set-cookie'), null)
      const etag = first.headers.get('etag') ?? ''
      assert.equal((await get(url + path, { 'if-none-match': etag })).status, 304, path)
    }
  })

  cached('many viewers of a file are one request to the service', async ({ url, loads }) => {
    const path = pathOf(videoId, 1)
    const responses = await Promise.all(Array.from({ length: 50 }, () => get(url + path)))
    for (const { status, bytes } of responses) assert.ok(status === 200 && bytes.equals(segments[1]!))
    assert.equal((await loads()).filter((load) => load.path.startsWith(path)).length, 1)
  })

  cached(
    'ranges are answered from the cache, and a part of an MP4 loads no other part',
    async ({ url, loads }) => {
      const ranges = [
        [pathOf(videoId, 1), segments[1]!, 1_000, 1_999],
        [mp4Of(videoId), film, film.length - 100, film.length - 1],
      ] as const
      for (const [path, content, from, to] of ranges) {
        const part = await get(url + path, { range: `bytes=${from}-${to}` })
        assert.equal(part.status, 206)
        assert.equal(part.headers.get('content-range'), `bytes ${from}-${to}/${content.length}`)
        assert.ok(part.bytes.equals(content.subarray(from, to + 1)))
      }
      assert.equal((await loads()).filter(({ path }) => path.startsWith(mp4Of(videoId))).length, 1)
      assert.ok((await get(url + mp4Of(videoId))).bytes.equals(film))
      const download = await get(`${url}${mp4Of(videoId)}?dl=1`)
      assert.match(download.headers.get('content-disposition') ?? '', /^attachment/)
      assert.equal((await get(url + mp4Of(videoId))).headers.get('content-disposition'), null)
    },
  )

  cached('playlists and scripts are compressed for players that accept it', async ({ url }) => {
    await query(
      service.database,
      `update segments set sizes = array_fill(1000, array[300]) where video_id = $1`,
      [videoId],
    )
    await query(
      service.database,
      `update encodings set plan = jsonb_set(plan, '{frames}', '30000') where video_id = $1`,
      [videoId],
    )
    const compressed = await fetch(url + media(), { headers: { 'accept-encoding': 'gzip' } })
    assert.deepEqual(
      [compressed.headers.get('content-encoding'), compressed.headers.get('vary')],
      ['gzip', 'Accept-Encoding'],
    )
    const plain = await fetch(url + media(), { headers: { 'accept-encoding': 'identity' } })
    assert.deepEqual([plain.headers.get('content-encoding'), plain.headers.get('x-cache')], [null, 'HIT'])
    assert.equal(await compressed.text(), await plain.text())
  })

  cached('viewers see the new segments of a video that is being encoded', async ({ url, loads }) => {
    await setEncoding([3_000])
    const viewers = await Promise.all(Array.from({ length: 50 }, () => get(url + media())))
    for (const { bytes } of viewers) assert.doesNotMatch(bytes.toString(), /video-1|ENDLIST/)
    // The playlist expires after a second. On a busy machine, a viewer may be later than that.
    const { length } = (await loads()).filter(({ path }) => path.startsWith(media()))
    assert.ok(length >= 1 && length <= 5, `${length} requests`)
    assert.equal(viewers[0]?.headers.get('cache-control'), 'public, max-age=0, s-maxage=1')
    await setEncoding(segments.map(({ length }) => length))
    await waitFor(async () => /video-2.*ENDLIST/s.test((await get(url + media())).bytes.toString()))
  })

  cached('errors are not cached', async ({ url }) => {
    const moved = join(service.data, 'files/videos', videoId, 'hls')
    await rename(moved, `${moved}-away`)
    assert.equal((await get(url + pathOf(videoId, 1))).status, 404)
    await rename(`${moved}-away`, moved)
    assert.equal((await get(url + pathOf(videoId, 1))).status, 200)
  })

  cached('private media are never cached, and need their session', async ({ url, loads }) => {
    const { assets } = (await patch({ public: false })).body
    const through = (asset: string) => url + new URL(asset).pathname
    for (const path of [master(), media(), pathOf(videoId, 1), mp4Of(videoId)])
      assert.deepEqual((await get(url + path)).status, 403, path)
    // The token is in the path, and the session in the query.
    const opened = await get(through(assets.hls))
    assert.deepEqual([opened.status, opened.cache], [200, null])
    const [, next = ''] = /^(240p\/manifest\.m3u8\S+)$/m.exec(opened.bytes.toString()) ?? []
    const playlist = new URL(next, through(assets.hls))
    const own = (await get(playlist.href)).bytes.toString()
    const [, file = ''] = /^(video-1\.m4s\S+)$/m.exec(own) ?? []
    const segment = new URL(file, playlist)
    for (const attempt of [1, 2]) {
      const response = await get(segment.href)
      assert.deepEqual([response.status, response.cache], [200, null], `attempt ${attempt}`)
      assert.match(response.headers.get('cache-control') ?? '', /^private,/)
    }
    for (const address of [through(assets.hls), playlist, segment].map((each) => new URL(each)))
      assert.equal((await get(address.origin + address.pathname)).status, 404, 'without the session')
    const other = (await call(`${service.url}/videos/${videoId}`)).body.assets
    assert.notEqual(other.hls, assets.hls)
    // A range of a private MP4 is passed on, so that nginx does not load what comes before.
    const range = { range: `bytes=${film.length - 10}-` }
    const redirected = await get(through(other.mp4))
    const end = await get(new URL(redirected.headers.get('location') ?? '', through(other.mp4)).href, range)
    assert.deepEqual([end.status, end.bytes.length], [206, 10])
    assert.equal(
      (await loads()).filter(({ path, status }) => path.includes(videoId) && status === 200).length,
      0,
    )
  })

  cached(
    'a video that becomes private or is deleted is gone after the documented command',
    async ({ url }) => {
      const paths = [master(), media(), pathOf(videoId, 1), mp4Of(videoId), `/vod/${videoId}`]
      const other = await makeVideo(service, onDisk(service))
      for (const path of [...paths, pathOf(other, 1)]) assert.equal((await get(url + path)).status, 200, path)
      await patch({ public: false })
      assert.equal((await get(url + pathOf(videoId, 1))).cache, 'HIT')
      await purge()
      for (const path of paths) assert.equal((await get(url + path)).status, 403, path)
      assert.equal((await get(url + pathOf(other, 1))).cache, 'HIT', 'of another video')
      await patch({ public: true })
      for (const path of paths) assert.equal((await get(url + path)).status, 200, path)
      await call(`${service.url}/videos/${videoId}`, { method: 'DELETE' })
      await purge()
      for (const path of paths) assert.equal((await get(url + path)).status, 404, path)
    },
  )

  cached('what is not media is not cached, and its routes stay closed', async ({ url }) => {
    const config = `/vod/${videoId}/config.json`
    for (const path of ['/healthz', config, config, `/videos/${videoId}`, '/docs']) {
      const { status, cache } = await get(url + path)
      assert.ok(status === 200 || (path.startsWith('/videos') && status === 401), `${status} ${path}`)
      assert.equal(cache, null, path)
    }
    for (const path of [
      '/internal/live/x/feed',
      '/kinora-load',
      '/kinora-wait',
      '/kinora-load/',
      '/kinora-load?x',
    ])
      assert.equal((await get(url + path)).status, 404, path)
  })

  cached('while the service is down, viewers get what the cache has, even if it is too old', async (_, t) => {
    const settings = {
      KINORA_DATABASE_URL: service.database,
      KINORA_DATA_DIR: service.data,
      KINORA_ROLES: 'api',
    }
    const another = await startKinora(settings)
    const inFront = await startCache(join(folder, 'another'), another.url)
    t.after(async () => {
      await another.stop()
      await inFront?.close()
    })
    await setEncoding(segments.slice(0, 2).map(({ length }) => length))
    const url = inFront?.url ?? ''
    for (const path of [media(), pathOf(videoId, 1)]) assert.equal((await get(url + path)).status, 200, path)
    await another.stop()
    // The playlist expires after a second.
    await waitFor(async () => (await get(url + media())).cache === 'STALE')
    assert.equal((await get(url + pathOf(videoId, 1))).cache, 'HIT')
    assert.equal((await get(url + pathOf(videoId, 2))).status, 502)
  })
})
