import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { launchBrowser, servePages, skip } from './browser.ts'
import {
  type Answer,
  assertProblem,
  client,
  type Kinora,
  kinora,
  query,
  type Service,
  startKinora,
  temporaryFolder,
  waitFor,
} from './harness.ts'
import { assertEncoded, ffmpeg, ffprobe, makeClip, uploadVideo } from './media.ts'

// One encoded video, private at the start of each test. Two programs that send the same from the same machine are two
// viewers all the same, unless one knows the session of the other.

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
/** On the same database and files: it knows no session until it is asked. */
let other: Kinora
/** The same, where addresses and sessions are for two seconds. */
let brief: Kinora
let videoId: string
const ends: (() => unknown)[] = []

before(async () => {
  const clip = join(await temporaryFolder({ after }), 'clip.mp4')
  await makeClip(clip, { size: '426x240', seconds: 5 })
  service = await kinora({ after: (end) => ends.push(end) })
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
  for (const end of ends) await end()
})
beforeEach(() => client(service.url).videos.update(videoId, { _public: false }))

async function get(url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
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

const statusOf = async (...asked: Parameters<typeof get>) => (await get(...asked)).status

/** An address of the video with a token that nobody has used, up to where the files begin. */
async function freshBase(at = service.url, id = videoId): Promise<string> {
  const { assets } = await client(at).videos.get(id)
  return assets!.hls!.replace('/hls/manifest.m3u8', '')
}

const assertRefused = (answer: Answer) => {
  assert.equal(answer.status, 404)
  assertProblem(answer, 404, 'resource-not-found', 'token')
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  assert.equal(answer.headers.get('set-cookie'), null)
}

const sessionOf = async (base: string): Promise<string> => {
  const { status, body, text } = await get(`${base}/session`)
  assert.equal(status, 200, text)
  return body.session_token
}

/** As it would be had the session been opened that much earlier. Who has asked for it before remembers it. */
const age = (seconds: number) =>
  query(service.database, `update playback_sessions set opened_at = opened_at - interval '${seconds} s'`)

/** Of a playlist: what it lists and names in attributes. */
const childrenOf = (playlist: string) => [
  ...playlist.split('\n').filter((line) => line !== '' && !line.startsWith('#')),
  ...[...playlist.matchAll(/URI="([^"]*)"/g)].map(([, uri]) => uri!),
]

describe('the addresses of a private video', () => {
  test('they carry one token, another one in every answer', async () => {
    const { videos } = client(service.url)
    const title = 'Another'
    const created = await videos.create({ title, _public: false })
    const id = created.videoId
    const listed = (await videos.list({ title })).data[0]!
    const answers = [created, listed, await videos.get(id), await videos.update(id, { title: 'Renamed' })]
    const tokens = answers.map(({ assets }) => {
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

  test('privacy takes effect at once on every file, both ways', async () => {
    const { videos } = client(service.url)
    const plain = (file: string) => `${service.url}/vod/${videoId}/${file}`
    const statuses = () => Promise.all(files.map((file) => statusOf(plain(file))))
    assert.deepEqual(new Set(await statuses()), new Set([403]))
    await videos.update(videoId, { _public: true })
    assert.deepEqual(new Set(await statuses()), new Set([200]))
    await videos.update(videoId, { _public: false })
    for (const file of files) assertProblem(await get(plain(file)), 403, 'private-video')
  })

  test('they work while the video is public, without a session and without a cookie', async () => {
    const base = await freshBase()
    await client(service.url).videos.update(videoId, { _public: true })
    for (const file of files) {
      const { status, text, headers } = await get(`${base}/${file}`)
      assert.equal(status, 200, file)
      assert.equal(headers.get('set-cookie'), null)
      assert.doesNotMatch(text, /avh=/)
      assertRefused(await get(`${base.slice(0, -1)}/${file}`))
    }
    const opened = await query(service.database, 'select from playback_sessions where token = $1', [
      base.split('/').pop(),
    ])
    assert.equal(opened.length, 0)
  })

  test('a token that is not of this video is none', async () => {
    const foreign = await client(service.url).videos.create({ title: '', _public: false })
    const token = tokenPattern.exec(foreign.assets!.hls!)![0]
    const own = tokenPattern.exec(await freshBase())![0]
    const changed = own.slice(0, -1) + (own.endsWith('0') ? '1' : '0')
    const nil = '00000000-0000-0000-0000-000000000000'
    const wrong = [token, changed, own.toUpperCase(), `${own}%20`, nil, 'x', '~'.repeat(5000), "'"]
    for (const each of wrong) {
      for (const file of [...files, 'session'])
        assertRefused(await get(`${service.url}/vod/${videoId}/token/${each}/${file}`))
    }
    assert.equal(await statusOf(`${service.url}/vod/${videoId}/token/${own}/session`), 200)
  })
})

describe('a viewing session', () => {
  test('the playlists lead to every file, and nothing is for shared caches', async () => {
    const base = await freshBase()
    const master = await get(`${base}/hls/manifest.m3u8`)
    const session = /\?avh=(\w{22})$/m.exec(master.text)![1]!
    const seen: string[] = []
    const follow = async (from: string, playlist: string) => {
      for (const child of childrenOf(playlist)) {
        assert.ok(child.endsWith(`?avh=${session}`), child)
        const url = new URL(child, from).href
        const answer = await get(url)
        assert.equal(answer.status, 200, url)
        assert.match(answer.headers.get('cache-control')!, /^private, max-age=\d+/)
        assert.equal(answer.headers.get('access-control-allow-origin'), '*')
        seen.push(child)
        if (child.includes('.m3u8')) await follow(url, answer.text)
        // The same without the session, and with another.
        assertRefused(await get(url.split('?')[0]!))
        assertRefused(await get(`${url}x`))
      }
    }
    assert.match(master.headers.get('cache-control')!, /^private, /)
    await follow(`${base}/hls/manifest.m3u8`, master.text)
    assert.ok(seen.length >= 8, String(seen))
  })

  test('a second browser gets nothing, whatever it sends', async () => {
    const base = await freshBase()
    const first = await get(`${base}/hls/manifest.m3u8`)
    assert.equal(first.status, 200)
    const forged = first.headers.get('set-cookie')!.split(';')[0]!.replace(/.$/, '')
    const agents: Record<string, string>[] = [{}, { 'user-agent': 'Other/1.0' }, { cookie: forged }]
    for (const headers of agents) {
      for (const file of [...files, 'session']) assertRefused(await get(`${base}/${file}`, headers))
      assertRefused(await get(`${base}/hls/manifest.m3u8?avh=`, headers))
      assertRefused(await get(`${base}/mp4/source.mp4`, { ...headers, range: 'bytes=0-' }))
    }
    for (const range of ['bytes=100-', 'bytes=20000-', 'bytes=-100']) {
      const asked = { 'user-agent': 'Other/1.0', range }
      assertRefused(await get(`${base}/mp4/source.mp4`, asked))
    }
    // Of the same make and at the same address: a range makes no difference, but for the inside of a file that is asked
    // for in parts.
    for (const range of ['bytes=1-', 'bytes=20000-', 'bytes=-99999999999']) {
      for (const file of [...files, 'session']) {
        const answer = await get(`${base}/${file}`, { range })
        if (file === 'mp4/source.mp4' && range === 'bytes=20000-') assert.equal(answer.status, 206)
        else assertRefused(answer)
      }
      const page = await get(`${service.url}/vod/${videoId}/config.json?token=${base.split('/').at(-1)}`, {
        range,
      })
      assert.equal(page.status, 403)
    }
  })

  test('its cookie stands for it, on this video alone', async () => {
    const base = await freshBase()
    const cookie = (await get(`${base}/hls/manifest.m3u8`)).headers.get('set-cookie')!
    const expected = `; Path=/vod/${videoId}; Max-Age=${2 * 86_400}; HttpOnly; SameSite=Lax`
    assert.match(cookie, /^kinora_[0-9a-f]{8}=\w{22}; /)
    assert.ok(cookie.endsWith(expected), cookie)
    const headers = { cookie: `a=b; ${cookie.split(';')[0]}; c=d` }
    for (const file of [...files, 'session']) assert.equal(await statusOf(`${base}/${file}`, headers), 200)
    // What a browser would send along to an address with another token opens that one anew.
    const another = await freshBase()
    assert.ok((await get(`${another}/session`, headers)).headers.has('set-cookie'))
    assert.equal(await statusOf(`${other.url}${new URL(base).pathname}/mp4/source.mp4`, headers), 200)
  })

  test('on https its cookie holds in frames of other sites; no secret is written to the log', async (t) => {
    const started = await startKinora({
      KINORA_DATABASE_URL: service.database,
      KINORA_DATA_DIR: service.data,
      KINORA_ROLES: 'api',
      KINORA_PUBLIC_URL: 'https://video.example.com',
      KINORA_LOG_LEVEL: 'info',
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

  test('it is handed out once, for players without cookies', async () => {
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
    assertRefused(await get(`${base}/session`))
    assertRefused(await get(`${await sessionless()}/hls/manifest.m3u8?avh=${session}`))
  })

  /** A base whose token has been used by somebody. */
  async function sessionless(): Promise<string> {
    const base = await freshBase()
    await sessionOf(base)
    return base
  }

  test('of many who come first at once, one has it', async () => {
    const base = await freshBase()
    const urls = [service.url, other.url].map((url) => `${url}${new URL(base).pathname}/session`)
    const asked = Array.from({ length: 40 }, (_, i) => get(urls[i % 2]!))
    const statuses = (await Promise.all(asked)).map(({ status }) => status).sort()
    assert.deepEqual(statuses, [200, ...Array.from({ length: 39 }, () => 404)])
  })

  test('what plays nothing does not open it: HEAD, pictures, what is not there or not there yet', async () => {
    const base = await freshBase()
    for (const file of [...files, 'session']) assert.equal(await statusOf(`${base}/${file}`, {}, 'HEAD'), 200)
    assert.equal(await statusOf(`${base}/hls/240p/video-999.m4s`), 404)
    assert.equal(await statusOf(`${base}/thumbnail.jpg`), 200)
    const head = await get(`${base}/hls/manifest.m3u8`, {}, 'HEAD')
    const whole = await get(`${base}/hls/manifest.m3u8`)
    assert.equal(whole.status, 200)
    assert.equal(head.headers.get('content-length'), String(whole.text.length))

    const empty = await client(service.url).videos.create({ title: '', _public: false })
    for (let i = 0; i < 3; i++) {
      const answer = await get(empty.assets!.hls!)
      assert.deepEqual([answer.status, answer.text], [202, ''])
      assert.equal(answer.headers.get('set-cookie'), null)
    }
    const [{ count }] = await query(
      service.database,
      'select count(*)::int from playback_sessions where video_id = $1',
      [empty.videoId],
    )
    assert.equal(count, 0)
  })

  test('it goes with its video', async () => {
    const { videoId: id, assets } = await client(service.url).videos.create({ title: '', _public: false })
    const base = assets!.hls!.replace('/hls/manifest.m3u8', '')
    const session = await sessionOf(base)
    await client(service.url).videos.delete(id)
    assertProblem(await get(`${base}/session?avh=${session}`), 404, 'resource-not-found', 'videoId')
    const left = await query(service.database, 'select from playback_sessions where video_id = $1', [id])
    assert.equal(left.length, 0)
  })
})

/** Plays a file from its beginning, and from near its end. */
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

describe('the MP4 by its bare address', () => {
  test('who opens the session is sent to an address that holds it', async () => {
    const base = await freshBase()
    const answer = await get(`${base}/mp4/source.mp4?dl=1`, { range: 'bytes=0-' })
    assert.equal(answer.status, 302)
    assert.equal(answer.headers.get('cache-control'), 'no-store')
    assert.equal(answer.headers.get('access-control-allow-origin'), '*')
    const to = new URL(answer.headers.get('location')!, `${base}/mp4/source.mp4`)
    assert.equal(`${to.origin}${to.pathname}`, `${base}/mp4/source.mp4`)
    assert.equal(to.searchParams.get('dl'), '1')
    const whole = await get(to.href)
    assert.equal(whole.status, 200)
    assert.match(whole.headers.get('content-disposition')!, /filename="Mine.mp4"/)
    assert.match(whole.headers.get('cache-control')!, /^private, max-age/)
  })

  test('further ranges come to the same machine and program by the bare address, too', async () => {
    const base = await freshBase()
    assert.equal(await statusOf(`${base}/mp4/source.mp4`), 302)
    assert.equal(await statusOf(`${base}/mp4/source.mp4`, { range: 'bytes=20000-20999' }), 206)
    // Such as are no ranges bring the whole file.
    for (const range of [
      'bytes=0-',
      'bytes=00-',
      'bytes=5-3',
      'bytes=1-2,5-6',
      'bites=1-',
      'bytes=-',
      'bytes=-1000',
    ])
      assertRefused(await get(`${base}/mp4/source.mp4`, { range }))
  })

  test('plain <video> plays it and seeks in it, and another browser does not', { skip }, async (t) => {
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
  test('after its time nothing starts, and what was begun goes on for a day', async () => {
    const [base, mp4Base] = [await freshBase(), await freshBase()]
    const session = await sessionOf(base)
    assert.equal(await statusOf(`${mp4Base}/mp4/source.mp4`), 302)
    const late = (of: string, file: string) => `${other.url}${new URL(of).pathname}/${file}`
    await age(86_400 + 60)
    for (const file of ['hls/manifest.m3u8', 'mp4/source.mp4', 'session'])
      assertRefused(await get(`${late(base, file)}?avh=${session}`))
    for (const file of files.slice(1, -1))
      assert.equal(await statusOf(`${late(base, file)}?avh=${session}`), 200, file)
    const range = { range: 'bytes=20000-20999' }
    assert.equal(await statusOf(`${late(base, 'mp4/source.mp4')}?avh=${session}`, range), 206)
    assert.equal(await statusOf(late(mp4Base, 'mp4/source.mp4'), range), 206)
    assertRefused(await get(`${late(base, 'mp4/source.mp4')}?avh=${session}`, { range: 'bytes=0-' }))
  })

  test('a day after that nothing is served, and it is deleted', async (t) => {
    const base = await freshBase()
    const session = await sessionOf(base)
    await age(2 * 86_400 + 60)
    for (const file of files) {
      const url = `${other.url}${new URL(base).pathname}/${file}?avh=${session}`
      assertRefused(await get(url, { range: 'bytes=20000-20999' }))
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

  test('the time is a setting: tokens that were not used end with it, viewers who play go on', async () => {
    const [used, unused] = [await freshBase(brief.url), await freshBase(brief.url)]
    const session = await sessionOf(used)
    const master = `${used}/hls/manifest.m3u8?avh=${session}`
    assert.equal(await statusOf(master), 200)
    assert.equal(await statusOf(`${unused}/hls/manifest.m3u8`, {}, 'HEAD'), 200)
    await waitFor(async () => (await statusOf(master)) === 404)
    assert.equal(await statusOf(`${used}/hls/240p/video-1.m4s?avh=${session}`), 200)
    await waitFor(async () => (await statusOf(`${unused}/hls/manifest.m3u8`, {}, 'HEAD')) === 404)
    for (const file of files) assertRefused(await get(`${unused}/${file}`, { range: 'bytes=1-' }))
  })
})

test('ffmpeg plays it whole by the address of the API, once', async () => {
  const { assets } = await client(service.url).videos.get(videoId)
  const said = await ffmpeg('-i', assets!.hls!, '-f', 'null', '-')
  assert.equal(said, '')
  await assert.rejects(ffmpeg('-i', assets!.hls!, '-f', 'null', '-'), /404/)
  const mp4 = `${await freshBase()}/mp4/source.mp4`
  const [seconds] = await ffprobe(mp4, '-show_entries', 'format=duration')
  assert.ok(Math.abs(Number(seconds) - 5) < 0.2, seconds)
})

test('the service meets no error in all of this', () => {
  for (const each of [service, other, brief])
    assert.doesNotMatch(each.output(), /request failed|"level":"(error|fatal)"/)
})
