import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { launchBrowser, servePages, skip } from '../support/browser/browser.ts'
import {
  type ApiResponse,
  assertNoErrorsLogged,
  assertProblem,
  type Kinora,
  kinora,
  query,
  type Service,
  startKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { ffmpeg, ffprobe, makeClip } from '../support/media/media.ts'
import { client } from '../support/published-client.ts'
import { assertEncoded, uploadVideo } from '../support/videos.ts'

// One encoded video, which is private at the start of each test. Two clients that send identical requests from the same
// machine are two viewers, unless one knows the session of the other.

const tokenPattern = /[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/
const files = [
  'hls/manifest.m3u8',
  'hls/240p/manifest.m3u8',
  'hls/sound/manifest.m3u8',
  'hls/240p/init.mp4',
  'hls/240p/video-1.m4s',
  'hls/sound/sound-0.m4s',
  'thumbnail.jpg',
  'mp4/source.mp4',
]

let service: Service
/** Shares the database and the files, but has no session in its cache. */
let other: Kinora
/** Shares them too, with tokens and sessions that are valid for two seconds. */
let brief: Kinora
let videoId: string
const ends: (() => unknown)[] = []

before(async () => {
  const clip = join(await temporaryFolder({ after }), 'clip.mp4')
  await makeClip(clip, { size: '426x240', seconds: 5 })
  service = await kinora({ after: (end) => ends.push(end) }, { KINORA_RESTORE_DAYS: '0' })
  const start = async (env: Record<string, string> = {}) => {
    const shared = { KINORA_DATABASE_URL: service.database, KINORA_DATA_DIR: service.data }
    const started = await startKinora({ ...shared, KINORA_LOG_LEVEL: 'warn', KINORA_ROLES: 'api', ...env })
    ends.unshift(() => started.stop())
    return started
  }
  videoId = await uploadVideo(service, clip, { title: 'Mine', public: false })
  ;[other, brief] = await Promise.all([start(), start({ KINORA_PRIVATE_SESSION_SECONDS: '2' })])
  await assertEncoded(service, videoId, ['hls 240p', 'mp4 240p'])
})
after(async () => {
  try {
    for (const each of [service, other, brief]) assertNoErrorsLogged(each)
  } finally {
    for (const end of ends) await end()
  }
})
beforeEach(() => client(service.url).videos.update(videoId, { _public: false }))

async function get(url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<ApiResponse> {
  const response = await fetch(url, { method, headers, redirect: 'manual' })
  const text = await response.text()
  const isJson = /json/.test(response.headers.get('content-type') ?? '') && text !== ''
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson ? JSON.parse(text) : undefined,
  }
}

const statusOf = async (...args: Parameters<typeof get>) => (await get(...args)).status

/** The base URL of the video's files, with an unused token. */
async function freshBase(at = service.url, id = videoId): Promise<string> {
  const { assets } = await client(at).videos.get(id)
  return assets!.hls!.replace('/hls/manifest.m3u8', '')
}

const assertRejected = (response: ApiResponse) => {
  assert.equal(response.status, 404)
  assertProblem(response, 404, 'resource-not-found', 'token')
  assert.equal(response.headers.get('cache-control'), 'no-store')
  assert.equal(response.headers.get('set-cookie'), null)
}

const sessionOf = async (base: string): Promise<string> => {
  const { status, body, text } = await get(`${base}/session`)
  assert.equal(status, 200, text)
  return body.session_token
}

/** Moves the start of all sessions into the past. A process that has used a session before has it in its cache. */
const age = (seconds: number) =>
  query(service.database, `update playback_sessions set opened_at = opened_at - interval '${seconds} s'`)

/** The URIs that a playlist contains, as lines and in attributes. */
const urisOf = (playlist: string) => [
  ...playlist.split('\n').filter((line) => line !== '' && !line.startsWith('#')),
  ...[...playlist.matchAll(/URI="([^"]*)"/g)].map(([, uri]) => uri!),
]

describe('the URLs of a private video', () => {
  test('all URLs in one response have the same token, and each response has a new one', async () => {
    const { videos } = client(service.url)
    const title = 'Another'
    const created = await videos.create({ title, _public: false })
    const id = created.videoId
    const listed = (await videos.list({ title })).data[0]!
    const responses = [created, listed, await videos.get(id), await videos.update(id, { title: 'Renamed' })]
    const tokens = responses.map(({ assets }) => {
      const token = tokenPattern.exec(assets!.hls!)![0]
      const base = `${service.url}/vod/${id}`
      assert.equal(assets!.hls, `${base}/token/${token}/hls/manifest.m3u8`)
      assert.equal(assets!.mp4, `${base}/token/${token}/mp4/source.mp4`)
      assert.equal(assets!.thumbnail, `${base}/token/${token}/thumbnail.jpg`)
      assert.equal(assets!.player, `${base}?token=${token}`)
      assert.ok(assets!.iframe!.startsWith(`<iframe src="${base}?token=${token}" `))
      return token
    })
    assert.equal(new Set(tokens).size, 4)
    const { assets } = await videos.update(id, { _public: true })
    assert.equal(assets!.hls, `${service.url}/vod/${id}/hls/manifest.m3u8`)
    assert.equal(assets!.player, `${service.url}/vod/${id}`)
  })

  test('a change of visibility takes effect immediately on every file', async () => {
    const { videos } = client(service.url)
    const plain = (file: string) => `${service.url}/vod/${videoId}/${file}`
    const statuses = () => Promise.all(files.map((file) => statusOf(plain(file))))
    assert.deepEqual(new Set(await statuses()), new Set([403]))
    await videos.update(videoId, { _public: true })
    assert.deepEqual(new Set(await statuses()), new Set([200]))
    await videos.update(videoId, { _public: false })
    for (const file of files) assertProblem(await get(plain(file)), 403, 'private-video')
  })

  test('URLs with a token work while the video is public, without a session and without a cookie', async () => {
    const base = await freshBase()
    await client(service.url).videos.update(videoId, { _public: true })
    for (const file of files) {
      const { status, text, headers } = await get(`${base}/${file}`)
      assert.equal(status, 200, file)
      assert.equal(headers.get('set-cookie'), null)
      assert.doesNotMatch(text, /avh=/)
      assertRejected(await get(`${base.slice(0, -1)}/${file}`))
    }
    const opened = await query(service.database, 'select from playback_sessions where token = $1', [
      base.split('/').pop(),
    ])
    assert.equal(opened.length, 0)
  })

  test('an invalid token or a token of another video is rejected', async () => {
    const foreign = await client(service.url).videos.create({ title: '', _public: false })
    const token = tokenPattern.exec(foreign.assets!.hls!)![0]
    const own = tokenPattern.exec(await freshBase())![0]
    const changed = own.slice(0, -1) + (own.endsWith('0') ? '1' : '0')
    const nil = '00000000-0000-0000-0000-000000000000'
    const wrong = [token, changed, own.toUpperCase(), `${own}%20`, nil, 'x', '~'.repeat(5000), "'"]
    for (const invalid of wrong) {
      for (const file of [...files, 'session'])
        assertRejected(await get(`${service.url}/vod/${videoId}/token/${invalid}/${file}`))
    }
    assert.equal(await statusOf(`${service.url}/vod/${videoId}/token/${own}/session`), 200)
  })
})

describe('a viewing session', () => {
  test('every file is reachable through the playlists, and no response may be stored in a shared cache', async () => {
    const base = await freshBase()
    const master = await get(`${base}/hls/manifest.m3u8`)
    const session = /\?avh=(\w{22})$/m.exec(master.text)![1]!
    const seen: string[] = []
    const visit = async (from: string, playlist: string) => {
      for (const child of urisOf(playlist)) {
        assert.ok(child.endsWith(`?avh=${session}`), child)
        const url = new URL(child, from).href
        const response = await get(url)
        assert.equal(response.status, 200, url)
        assert.match(response.headers.get('cache-control')!, /^private, max-age=\d+/)
        assert.equal(response.headers.get('access-control-allow-origin'), '*')
        seen.push(child)
        if (child.includes('.m3u8')) await visit(url, response.text)
        // Without a session, and with a wrong one.
        assertRejected(await get(url.split('?')[0]!))
        assertRejected(await get(`${url}x`))
      }
    }
    assert.match(master.headers.get('cache-control')!, /^private, /)
    await visit(`${base}/hls/manifest.m3u8`, master.text)
    assert.ok(seen.length >= 8, String(seen))
  })

  test('a second browser is rejected, with any headers', async () => {
    const base = await freshBase()
    const first = await get(`${base}/hls/manifest.m3u8`)
    assert.equal(first.status, 200)
    const forged = first.headers.get('set-cookie')!.split(';')[0]!.replace(/.$/, '')
    const variants: Record<string, string>[] = [{}, { 'user-agent': 'Other/1.0' }, { cookie: forged }]
    for (const headers of variants) {
      for (const file of [...files, 'session']) assertRejected(await get(`${base}/${file}`, headers))
      assertRejected(await get(`${base}/hls/manifest.m3u8?avh=`, headers))
      assertRejected(await get(`${base}/mp4/source.mp4`, { ...headers, range: 'bytes=0-' }))
    }
    for (const range of ['bytes=100-', 'bytes=20000-', 'bytes=-100']) {
      const headers = { 'user-agent': 'Other/1.0', range }
      assertRejected(await get(`${base}/mp4/source.mp4`, headers))
    }
    // With the same user agent and IP address, a range request is rejected too, except for one inside the MP4, which
    // players request in parts.
    for (const range of ['bytes=1-', 'bytes=20000-', 'bytes=-99999999999']) {
      for (const file of [...files, 'session']) {
        const response = await get(`${base}/${file}`, { range })
        if (file === 'mp4/source.mp4' && range === 'bytes=20000-') assert.equal(response.status, 206)
        else assertRejected(response)
      }
      const page = await get(`${service.url}/vod/${videoId}/config.json?token=${base.split('/').at(-1)}`, {
        range,
      })
      assert.equal(page.status, 403)
    }
  })

  test('the session cookie is valid for this video only', async () => {
    const base = await freshBase()
    const cookie = (await get(`${base}/hls/manifest.m3u8`)).headers.get('set-cookie')!
    const expected = `; Path=/vod/${videoId}; Max-Age=${2 * 86_400}; HttpOnly; SameSite=Lax`
    assert.match(cookie, /^kinora_[0-9a-f]{8}=\w{22}; /)
    assert.ok(cookie.endsWith(expected), cookie)
    const headers = { cookie: `a=b; ${cookie.split(';')[0]}; c=d` }
    for (const file of [...files, 'session']) assert.equal(await statusOf(`${base}/${file}`, headers), 200)
    // A URL with another token opens a new session, although the browser sends the cookie.
    const another = await freshBase()
    assert.ok((await get(`${another}/session`, headers)).headers.has('set-cookie'))
    assert.equal(await statusOf(`${other.url}${new URL(base).pathname}/mp4/source.mp4`, headers), 200)
  })

  test('over HTTPS the cookie also works in frames of other sites, and no secret is logged', async (t) => {
    const started = await startKinora({
      KINORA_DATABASE_URL: service.database,
      KINORA_DATA_DIR: service.data,
      KINORA_ROLES: 'api',
      KINORA_PUBLIC_URL: 'https://video.example.com',
      KINORA_LOG_LEVEL: 'debug',
    })
    t.after(() => started.stop())
    await waitFor(() => /listening at (http\S+\d)/.test(started.output()))
    const [, url] = /listening at (http\S+\d)/.exec(started.output())!
    const { pathname } = new URL(await freshBase())
    const { headers, body } = await get(`${url}${pathname}/session`)
    assert.match(headers.get('set-cookie')!, /; HttpOnly; Secure; SameSite=None; Partitioned$/)
    assert.equal(await statusOf(`${url}${pathname}/hls/manifest.m3u8?avh=${body.session_token}`), 200)
    await waitFor(() => started.output().includes('/token/[secret]/hls/manifest.m3u8?avh=[secret]'))
    assert.doesNotMatch(started.output(), tokenPattern)
    assert.ok(!started.output().includes(body.session_token))
  })

  test('the session endpoint returns the session once, for players without cookies', async () => {
    const base = await freshBase()
    const { status, headers, body } = await get(`${base}/session`, { origin: 'https://page.example' })
    assert.equal(status, 200)
    assert.equal(headers.get('content-type'), 'application/json')
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.equal(headers.get('access-control-allow-origin'), '*')
    assert.deepEqual(Object.keys(body), ['session_token'])
    const session = body.session_token
    for (const file of [...files, 'session'])
      assert.equal(await statusOf(`${base}/${file}?avh=${session}`), 200, file)
    assert.equal((await get(`${base}/session?avh=${session}`)).body.session_token, session)
    assertRejected(await get(`${base}/session`))
    assertRejected(await get(`${await usedBase()}/hls/manifest.m3u8?avh=${session}`))
  })

  /** A base URL whose token has already opened a session. */
  async function usedBase(): Promise<string> {
    const base = await freshBase()
    await sessionOf(base)
    return base
  }

  test('only one of many concurrent first requests opens the session', async () => {
    const base = await freshBase()
    const urls = [service.url, other.url].map((url) => `${url}${new URL(base).pathname}/session`)
    const requests = Array.from({ length: 40 }, (_, i) => get(urls[i % 2]!))
    const statuses = (await Promise.all(requests)).map(({ status }) => status).sort()
    assert.deepEqual(statuses, [200, ...Array.from({ length: 39 }, () => 404)])
  })

  test('HEAD requests, thumbnails, missing files and unfinished videos do not open the session', async () => {
    const base = await freshBase()
    for (const file of [...files, 'session']) assert.equal(await statusOf(`${base}/${file}`, {}, 'HEAD'), 200)
    assert.equal(await statusOf(`${base}/hls/240p/video-999.m4s`), 404)
    assert.equal(await statusOf(`${base}/thumbnail.jpg`), 200)
    const head = await get(`${base}/hls/manifest.m3u8`, {}, 'HEAD')
    const full = await get(`${base}/hls/manifest.m3u8`)
    assert.equal(full.status, 200)
    assert.equal(head.headers.get('content-length'), String(full.text.length))

    const empty = await client(service.url).videos.create({ title: '', _public: false })
    for (let i = 0; i < 3; i++) {
      const response = await get(empty.assets!.hls!)
      assert.deepEqual([response.status, response.text], [202, ''])
      assert.equal(response.headers.get('set-cookie'), null)
    }
    const [{ count }] = await query(
      service.database,
      'select count(*)::int from playback_sessions where video_id = $1',
      [empty.videoId],
    )
    assert.equal(count, 0)
  })

  test('deleting the video deletes its sessions', async () => {
    const { videoId: id, assets } = await client(service.url).videos.create({ title: '', _public: false })
    const base = assets!.hls!.replace('/hls/manifest.m3u8', '')
    const session = await sessionOf(base)
    await client(service.url).videos.delete(id)
    assertProblem(await get(`${base}/session?avh=${session}`), 404, 'resource-not-found', 'videoId')
    const remaining = await query(service.database, 'select from playback_sessions where video_id = $1', [id])
    assert.equal(remaining.length, 0)
  })
})

/** Plays a file from the beginning, then seeks close to its end. */
const script = `<script>
  async function play(src) {
    const video = document.querySelector('video')
    const until = (name) => new Promise((done) => video.addEventListener(name, () => done(name), { once: true }))
    const failed = until('error')
    video.src = src
    video.play().catch(() => {})
    if ((await Promise.race([until('playing'), failed])) === 'error') return 'error'
    video.currentTime = 4
    return Promise.race([until('ended'), failed])
  }
</script>`

describe('the MP4 URL without a session', () => {
  test('the request that opens the session is redirected to a URL that contains it', async () => {
    const base = await freshBase()
    const response = await get(`${base}/mp4/source.mp4?dl=1`, { range: 'bytes=0-' })
    assert.equal(response.status, 302)
    assert.equal(response.headers.get('cache-control'), 'no-store')
    assert.equal(response.headers.get('access-control-allow-origin'), '*')
    const to = new URL(response.headers.get('location')!, `${base}/mp4/source.mp4`)
    assert.equal(`${to.origin}${to.pathname}`, `${base}/mp4/source.mp4`)
    assert.equal(to.searchParams.get('dl'), '1')
    const full = await get(to.href)
    assert.equal(full.status, 200)
    assert.match(full.headers.get('content-disposition')!, /filename="Mine.mp4"/)
    assert.match(full.headers.get('cache-control')!, /^private, max-age/)
  })

  test('later range requests from the same IP address and user agent work without the session, too', async () => {
    const base = await freshBase()
    assert.equal(await statusOf(`${base}/mp4/source.mp4`), 302)
    assert.equal(await statusOf(`${base}/mp4/source.mp4`, { range: 'bytes=20000-20999' }), 206)
    // Other ranges are rejected. Invalid ones would return the entire file.
    for (const range of [
      'bytes=0-',
      'bytes=00-',
      'bytes=5-3',
      'bytes=1-2,5-6',
      'bites=1-',
      'bytes=-',
      'bytes=-1000',
    ])
      assertRejected(await get(`${base}/mp4/source.mp4`, { range }))
  })

  test('a plain <video> element plays and seeks, but not in another browser', { skip }, async (t) => {
    const pages = await servePages((_request, response) => {
      response.setHeader('content-type', 'text/html').end(`<!doctype html><video muted></video>${script}`)
    })
    t.after(() => pages.close())
    const browser = (await launchBrowser())!
    t.after(() => browser.close())
    const url = `${await freshBase()}/mp4/source.mp4`
    const play = async () => {
      const page = await (await browser.newContext()).newPage()
      await page.goto(pages.url)
      return page.evaluate(`play(${JSON.stringify(url)})`)
    }
    assert.equal(await play(), 'ended')
    assert.equal(await play(), 'error')
  })
})

describe('the end of a session', () => {
  test('an expired session cannot start playback, but running playback may continue for a day', async () => {
    const [base, mp4Base] = [await freshBase(), await freshBase()]
    const session = await sessionOf(base)
    assert.equal(await statusOf(`${mp4Base}/mp4/source.mp4`), 302)
    const atOther = (url: string, file: string) => `${other.url}${new URL(url).pathname}/${file}`
    await age(86_400 + 60)
    for (const file of ['hls/manifest.m3u8', 'mp4/source.mp4', 'session'])
      assertRejected(await get(`${atOther(base, file)}?avh=${session}`))
    for (const file of files.slice(1, -1))
      assert.equal(await statusOf(`${atOther(base, file)}?avh=${session}`), 200, file)
    const range = { range: 'bytes=20000-20999' }
    assert.equal(await statusOf(`${atOther(base, 'mp4/source.mp4')}?avh=${session}`, range), 206)
    assert.equal(await statusOf(atOther(mp4Base, 'mp4/source.mp4'), range), 206)
    assertRejected(await get(`${atOther(base, 'mp4/source.mp4')}?avh=${session}`, { range: 'bytes=0-' }))
  })

  test('a day after it expired, a session is rejected and deleted', async (t) => {
    const base = await freshBase()
    const session = await sessionOf(base)
    await age(2 * 86_400 + 60)
    for (const file of files) {
      const url = `${other.url}${new URL(base).pathname}/${file}?avh=${session}`
      assertRejected(await get(url, { range: 'bytes=20000-20999' }))
    }
    const worker = await startKinora({
      KINORA_DATABASE_URL: service.database,
      KINORA_DATA_DIR: service.data,
      KINORA_ROLES: 'worker',
    })
    t.after(() => worker.stop())
    const count = async () => {
      const old = "select from playback_sessions where opened_at < now() - interval '2 days'"
      return (await query(service.database, old)).length
    }
    await waitFor(async () => (await count()) === 0)
  })

  test('unused tokens expire after KINORA_PRIVATE_SESSION_SECONDS, but running playback continues', async () => {
    let [used, unused, session, master] = ['', '', '', '']
    const areValid = async () => {
      ;[used, unused] = [await freshBase(brief.url), await freshBase(brief.url)]
      const opened = await get(`${used}/session`)
      session = opened.body?.session_token
      master = `${used}/hls/manifest.m3u8?avh=${session}`
      const statuses = [await statusOf(master), await statusOf(`${unused}/hls/manifest.m3u8`, {}, 'HEAD')]
      return [opened.status, ...statuses].every((status) => status === 200)
    }
    // On a busy machine, the requests may take longer than the tokens are valid.
    await waitFor(areValid)
    await waitFor(async () => (await statusOf(master)) === 404)
    assert.equal(await statusOf(`${used}/hls/240p/video-1.m4s?avh=${session}`), 200)
    await waitFor(async () => (await statusOf(`${unused}/hls/manifest.m3u8`, {}, 'HEAD')) === 404)
    for (const file of files) assertRejected(await get(`${unused}/${file}`, { range: 'bytes=1-' }))
  })
})

test('ffmpeg can play the URL from the API completely, but only once', async () => {
  const { assets } = await client(service.url).videos.get(videoId)
  const output = await ffmpeg('-i', assets!.hls!, '-f', 'null', '-')
  assert.equal(output, '')
  await assert.rejects(ffmpeg('-i', assets!.hls!, '-f', 'null', '-'), /404/)
  const mp4 = `${await freshBase()}/mp4/source.mp4`
  const [seconds] = await ffprobe(mp4, '-show_entries', 'format=duration')
  assert.ok(Math.abs(Number(seconds) - 5) < 0.2, seconds)
})
