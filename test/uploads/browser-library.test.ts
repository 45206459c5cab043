import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer as createProxy } from 'node:net'
import { join } from 'node:path'
import { after, afterEach, before, describe, type TestContext, test } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { fileURLToPath } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser, type Pages, servePages, skip } from '../support/browser/browser.ts'
import {
  assertNoErrorsLogged,
  assertSource,
  call,
  fileExists,
  MiB,
  productionKey,
  query,
  sandboxKey,
  sharedKinora,
  sourcePath,
  temporaryFolder,
} from '../support/harness.ts'
import { withoutEncoding } from '../support/programs.ts'
import { createVideo } from '../support/videos.ts'

// The published, unmodified browser library in a real browser. The page has another origin than the service, and the
// service uses HTTPS, because the library supports nothing else.

const big = randomBytes(11 * MiB + 77)
const small = big.subarray(0, 1_000_000)
/** The smallest chunk size that the library accepts. */
const chunkSize = 5 * MiB

/** The script of the page. It fetches the content of its uploads from the test. */
const script = `
  const bytes = async (from, to) => (await fetch('/bytes?' + from + '-' + to)).blob()

  async function outcomeOf(uploader, upload) {
    const progress = []
    uploader.onProgress((event) => progress.push(event))
    try {
      return { video: await upload(), progress }
    } catch (error) {
      return { error, progress }
    }
  }

  async function uploadFile({ name, size, ...options }) {
    const uploader = new VideoUploader({ file: new File([await bytes(0, size)], name), ...options })
    return outcomeOf(uploader, () => uploader.upload())
  }

  async function uploadParts({ cuts, ...options }) {
    const uploader = new ProgressiveUploader(options)
    const parts = await Promise.all(cuts.slice(1).map((cut, i) => bytes(cuts[i], cut)))
    return outcomeOf(uploader, async () => {
      // A recorder does not wait for the previous part either.
      const sent = parts.slice(0, -1).map((part) => uploader.uploadPart(part))
      const video = await uploader.uploadLastPart(parts.at(-1))
      await Promise.all(sent)
      return video
    })
  }`

const settings: Record<string, string> = withoutEncoding()
const defaultAuthorities = getCACertificates('default')
let pages: Pages
let browser: Browser | undefined
let page: Page
const messages: string[] = []

before(async () => {
  const folder = await temporaryFolder({ after })
  settings.KINORA_TLS_CERT = join(folder, 'cert.pem')
  settings.KINORA_TLS_KEY = join(folder, 'key.pem')
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-days', '1']
  const files = ['-keyout', settings.KINORA_TLS_KEY, '-out', settings.KINORA_TLS_CERT]
  execFileSync('openssl', ['req', '-x509', ...key, ...subject, ...files], { stdio: 'pipe' })
  // For the requests of the test itself. The browser ignores certificate errors.
  setDefaultCACertificates([...defaultAuthorities, readFileSync(settings.KINORA_TLS_CERT, 'utf8')])

  const library = readFileSync(fileURLToPath(import.meta.resolve('@api.video/video-uploader')))
  const contents: Record<string, [type: string, content: string | Buffer]> = {
    '/': ['text/html', `<script src="/library.js"></script><script>${script}</script>`],
    '/library.js': ['text/javascript', library],
  }
  pages = await servePages(({ url = '' }, response) => {
    const [, from, to] = /^\/bytes\?(\d+)-(\d+)$/.exec(url) ?? []
    const bytes = ['application/octet-stream', big.subarray(Number(from), Number(to))] as const
    const [type, content] = from ? bytes : (contents[url] ?? ['text/plain', ''])
    response.setHeader('content-type', type).end(content)
  })
  browser = await launchBrowser()
  if (!browser) return
  page = await browser.newPage({ ignoreHTTPSErrors: true })
  page.on('console', (message) => messages.push(message.text()))
  await page.goto(pages.url)
})
const service = sharedKinora(settings)

afterEach(() => assertNoErrorsLogged(service))
after(async () => {
  await browser?.close()
  pages.close()
  setDefaultCACertificates(defaultAuthorities)
})

type Progress = { currentChunk: number; uploadedBytes: number; part: number }
type Failure = {
  status?: number
  type?: string
  title?: string
  reason?: string
  raw?: string
  name?: string
}
type Uploaded = { videoId: string; title: string; _public: boolean; createdAt: Date; assets: { hls: string } }
type Outcome = { video?: Uploaded; error?: Failure; progress: Progress[]; messages: string[] }
type Job = Record<string, unknown>

const hostOf = (url: string) => url.replace('https://', '')

async function inPage(script: string): Promise<Outcome> {
  messages.length = 0
  return { ...((await page.evaluate(script)) as Outcome), messages: [...messages] }
}

const uploadFile = (options: Job) => {
  const job = { name: 'holiday.mp4', size: big.length, apiHost: hostOf(service.url), chunkSize, ...options }
  return inPage(`uploadFile(${JSON.stringify(job)})`)
}
const uploadParts = (options: Job & { cuts: number[] }) => {
  const job = { apiHost: hostOf(service.url), ...options }
  return inPage(`uploadParts(${JSON.stringify(job)})`)
}

const post = async (path: string, json: unknown, key = productionKey) =>
  (await call(service.url + path, { method: 'POST', json, key })).body
const newToken = async (json = {}): Promise<string> => (await post('/upload-tokens', json)).token

/** Checks that there is exactly one video, and that it has received this number of parts and this content. */
async function assertUploaded({ video, error }: Outcome, parts: number, content: Buffer, path = '') {
  assert.ok(video, JSON.stringify(error))
  assert.deepEqual(await query(service.database, 'select id from videos'), [{ id: video.videoId }])
  const key = path === '/sandbox' ? sandboxKey : productionKey
  const { body } = await call(`${service.url + path}/videos/${video.videoId}/status`, { key })
  const numbers = Array.from({ length: parts }, (_, i) => i + 1)
  assert.equal(body.ingest.status, 'uploaded')
  assert.equal(body.ingest.filesize, content.length)
  assert.deepEqual(body.ingest.receivedParts, { parts: numbers, total: parts })
  await assertSource(service.data, video.videoId, content)
}

/**
 * A proxy between the browser and the service. It closes the connection during the request, or during the response to
 * it, each time the browser has sent the next number of bytes in `afterBytes`.
 */
async function breakingProxy(t: TestContext, at: 'request' | 'response', afterBytes: readonly number[]) {
  let sentBytes = 0
  const proxy = { host: '', broken: 0 }
  const server = createProxy((near) => {
    const far = connect(Number(new URL(service.url).port), 'localhost')
    const forward = (direction: 'request' | 'response') => (chunk: Buffer) => {
      if (direction === 'request') sentBytes += chunk.length
      if (direction === at && sentBytes > (afterBytes[proxy.broken] ?? Number.POSITIVE_INFINITY)) {
        proxy.broken++
        near.destroy()
        far.destroy()
      } else (direction === 'request' ? far : near).write(chunk)
    }
    near.on('data', forward('request'))
    far.on('data', forward('response'))
    near.on('error', () => {}).on('close', () => far.destroy())
    far.on('error', () => {}).on('close', () => near.destroy())
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => server.close())
  proxy.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return proxy
}

describe('the browser library', { skip }, () => {
  test('uploads a file in one request with an upload token', async () => {
    const outcome = await uploadFile({ uploadToken: await newToken(), size: small.length })
    await assertUploaded(outcome, 1, small)
    const { title, _public, createdAt, assets } = outcome.video!
    assert.deepEqual([title, _public], ['holiday.mp4', true])
    assert.ok(Math.abs(createdAt.getTime() - Date.now()) < 60_000)
    assert.ok(assets.hls.startsWith(`${service.url}/vod/`))
    assert.ok(outcome.progress.at(-1)!.uploadedBytes >= small.length)
  })

  test('uploads a file in chunks into one video with an upload token', async () => {
    const outcome = await uploadFile({ uploadToken: await newToken(), name: 'Sommer & Ü 100 %.mp4' })
    await assertUploaded(outcome, 3, big)
    assert.equal(outcome.video?.title, 'Sommer & Ü 100 %.mp4')
    const chunks = new Set(outcome.progress.map(({ currentChunk }) => currentChunk))
    assert.deepEqual([...chunks], [1, 2, 3])
    assert.deepEqual(outcome.messages, [])
  })

  test('fills an existing empty video with an upload token', async () => {
    const videoId = await createVideo(service, { title: 'Prepared' })
    const uploadToken = await newToken()
    const outcome = await uploadFile({ uploadToken, videoId, videoName: 'other.mp4' })
    await assertUploaded(outcome, 3, big)
    assert.deepEqual([outcome.video?.videoId, outcome.video?.title], [videoId, 'Prepared'])
  })

  test('uploads with an API key and sends the name of its application', async () => {
    const videoId = await createVideo(service)
    const origin = {
      application: { name: 'my-app', version: '1.2.3' },
      sdk: { name: 'my-sdk', version: '4.5' },
    }
    await assertUploaded(await uploadFile({ apiKey: productionKey, videoId, origin }), 3, big)
  })

  test('uploads into the sandbox by its path prefix', async () => {
    const { videoId } = await post('/sandbox/videos', { title: 'Trial' }, sandboxKey)
    const apiHost = `${hostOf(service.url)}/sandbox`
    await assertUploaded(
      await uploadFile({ apiKey: sandboxKey, videoId, apiHost, size: small.length }),
      1,
      small,
      '/sandbox',
    )
  })

  test('uploads with an access token and renews an expired one', async () => {
    const tokens = await post('/auth/api-key', { apiKey: productionKey })
    const videoId = await createVideo(service)
    await assertUploaded(await uploadFile({ accessToken: tokens.access_token, videoId }), 3, big)

    await query(service.database, 'delete from videos')
    const again = {
      videoId: await createVideo(service),
      accessToken: 'expired',
      refreshToken: tokens.refresh_token,
    }
    const outcome = await uploadFile(again)
    await assertUploaded(outcome, 3, big)
    assert.deepEqual(
      outcome.messages.filter((line) => line.includes('retried')),
      [],
    )
  })

  test('joins small recorded parts and uploads them with an upload token', async () => {
    const cuts = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11].map((each) => each * MiB)
    const outcome = await uploadParts({
      uploadToken: await newToken(),
      videoName: 'recorded.webm',
      cuts: [...cuts, big.length],
    })
    await assertUploaded(outcome, 3, big)
    assert.equal(outcome.video?.title, 'recorded.webm')
    assert.deepEqual([...new Set(outcome.progress.map(({ part }) => part))], [1, 2, 3])
  })

  test('uploads a recording whose last part is empty', async () => {
    const cuts = [0, chunkSize, 2 * chunkSize, 2 * chunkSize]
    const outcome = await uploadParts({ uploadToken: await newToken(), cuts })
    await assertUploaded(outcome, 3, big.subarray(0, 2 * chunkSize))
  })

  test('uploads a recording that is smaller than one part', async () => {
    const outcome = await uploadParts({ uploadToken: await newToken(), cuts: [0, 1000, small.length] })
    await assertUploaded(outcome, 1, small)
  })

  test('uploads parts with an API key and holds back the last one to prevent an empty part', async () => {
    const cuts = [0, 5.5 * MiB, 11 * MiB, big.length]
    const options = { apiKey: productionKey, videoId: await createVideo(service), preventEmptyParts: true }
    await assertUploaded(await uploadParts({ ...options, cuts }), 2, big)
  })

  test('reports why a large upload is rejected and does not try again', async () => {
    const videoId = await createVideo(service)
    const cases = [
      [{ uploadToken: 'to0000000000000000000000' }, 401, 'authentication-invalid-upload-token', undefined],
      [{ uploadToken: '' }, 401, 'authentication-missing-upload-token', undefined],
      [{ apiKey: 'wrong', videoId }, 401, 'authentication-invalid-api-key', undefined],
      [{ accessToken: 'wrong', videoId }, 401, 'authentication-invalid-access-token', undefined],
      [{ apiKey: productionKey, videoId: 'vi00000000000000' }, 404, 'resource-not-found', 'videoId'],
    ] as const
    for (const [options, status, slug, name] of cases) {
      const { error, video, messages } = await uploadFile({ ...options, chunkSize: 128 * MiB })
      assert.ok(error, JSON.stringify(video))
      assert.deepEqual([error.status, error.type?.split('/').pop(), error.name], [status, slug, name])
      assert.ok(error.title && error.title.length > 5)
      assert.equal(JSON.parse(error.raw ?? '').title, error.title)
      assert.deepEqual(
        messages.filter((line) => line.includes('retried')),
        [],
      )
    }
    assert.equal(await fileExists(sourcePath(service.data, videoId)), false)
  })

  // The connection breaks twice, because the browser itself repeats a request that it lost on a reused connection.
  for (const [at, afterBytes] of [
    ['request', [chunkSize + 2 * MiB, chunkSize + 4 * MiB]],
    ['response', [2 * chunkSize, 3 * chunkSize]],
  ] as const) {
    test(`continues after the connection breaks during the ${at} of a chunk`, async (t) => {
      const proxy = await breakingProxy(t, at, afterBytes)
      const outcome = await uploadFile({ uploadToken: await newToken(), apiHost: proxy.host })
      await assertUploaded(outcome, 3, big)
      assert.equal(proxy.broken, 2)
      assert.match(outcome.messages.join('\n'), /NETWORK_ERROR, will be retried/)
    })
  }
})
