import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import {
  assertSource,
  call,
  kinoraCommand,
  MiB,
  productionKey,
  query,
  root,
  runKinora,
  sandboxKey,
  sharedKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { withoutEncoding } from '../support/programs.ts'

// Runs `kinora upload` against a real service.

const service = sharedKinora({ ...withoutEncoding(), KINORA_ENCODE_DURING_UPLOAD: 'on' })
/** The command sends it in three chunks: 8 MiB, 8 MiB and the rest. */
const big = randomBytes(24 * MiB + 77)
const small = big.subarray(0, 100_000)
const notAVideo = 'The file is not a video that can be read.'

/** A box of an MP4 file with random content. */
function box(type: string, bodyBytes: number): Buffer {
  const head = Buffer.alloc(8)
  head.writeUInt32BE(8 + bodyBytes)
  head.write(type, 4)
  return Buffer.concat([head, randomBytes(bodyBytes)])
}

/** A home folder with files to upload. The command stores the state of unfinished uploads in it. */
async function createHome(t: TestContext, files: Record<string, Buffer>) {
  const folder = await temporaryFolder(t)
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content)
  const env = { HOME: folder, KINORA_URL: service.url, KINORA_KEY: productionKey }
  return {
    env,
    path: (name: string) => join(folder, name),
    /** The state files of unfinished uploads. */
    stateFiles: () => readdir(join(folder, '.cache/kinora/uploads')).catch(() => [] as string[]),
    async upload(args: string[], more: Record<string, string> = {}): Promise<string[]> {
      const { code, stdout, stderr } = await runKinora(['upload', ...args], { ...env, ...more })
      // The service has received the files, and rejects random bytes.
      assert.equal(code, 1, stderr)
      if (!args.includes('--json')) assert.match(stderr, rejected)
      assert.ok(stdout.endsWith('\n'))
      return stdout.trimEnd().split('\n')
    },
  }
}

const rejected = /^(kinora: )?([^\n]+ cannot be encoded\. [^\n]+\. [^\n]+ videos delete vi\w+"\.\n)+$/

type Video = { videoId: string; title: string; public: boolean; assets: { player: string } }

/** All videos, oldest first. */
async function videos(path = '', key = productionKey): Promise<Video[]> {
  const { body } = await call(`${service.url + path}/videos?sortBy=createdAt&sortOrder=asc`, { key })
  return body.data
}

async function onlyVideo(): Promise<Video> {
  const [video, ...others] = await videos()
  assert.ok(video)
  assert.deepEqual(others, [])
  return video
}

async function receivedBytes(videoId: string): Promise<number[]> {
  const { body } = await call(`${service.url}/videos/${videoId}/status`)
  return (body.ingest?.receivedBytes ?? []).map(({ from }: { from: number }) => from)
}

/** A URL whose port is closed. */
async function closedUrl(): Promise<string> {
  const server = createServer()
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  await new Promise((done) => server.close(done))
  return `http://127.0.0.1:${port}`
}

type Proxy = {
  url: string
  /** Method, path and first byte of each request. */
  requests: string[]
  /** Forwards a request, stops forwarding it after 1 MiB, or closes its connection. */
  handle: (request: string) => 'forward' | 'stall' | 'reset'
  /** The number of stalled requests. */
  stalled: number
}

/** A proxy between the command and the service that can stall and reset requests. */
async function startProxy(t: TestContext): Promise<Proxy> {
  const state: Proxy = { url: '', requests: [], handle: () => 'forward', stalled: 0 }
  const forward = (incoming: IncomingMessage, reply: ServerResponse) => {
    const [, from] = /^bytes (\d+)-/.exec(incoming.headers['content-range'] ?? '') ?? []
    const name = [incoming.method, incoming.url, from].filter(Boolean).join(' ')
    state.requests.push(name)
    const action = state.handle(name)
    if (action === 'reset') return incoming.socket.destroy()
    const { method = '', url = '', headers } = incoming
    const outgoing = request(service.url + url, { method, headers, agent: false }, (response) => {
      reply.writeHead(response.statusCode ?? 0, response.headers)
      response.pipe(reply)
    })
    outgoing.on('error', () => reply.destroy())
    incoming.on('error', () => {})
    reply.on('close', () => outgoing.destroy())
    if (action === 'forward') return incoming.pipe(outgoing)
    let forwardedBytes = 0
    // The proxy reads and discards the rest: it would not notice the end of a connection that it does not read.
    incoming.on('data', (chunk: Buffer) => {
      if (forwardedBytes >= MiB) return
      outgoing.write(chunk)
      forwardedBytes += chunk.length
      if (forwardedBytes >= MiB) state.stalled++
    })
  }
  const server = createServer(forward)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return state
}

/** Starts an upload and sends the signal to the command when one chunk is stored and two are stalled. */
async function interrupt(
  t: TestContext,
  signal: NodeJS.Signals,
  proxy: Proxy,
  path: string,
  env: Record<string, string>,
) {
  proxy.handle = (name) => (/ (8388608|16777216)$/.test(name) ? 'stall' : 'forward')
  const child = spawn(process.execPath, [kinoraCommand(), 'upload', path], {
    cwd: root,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      printed += chunk
    })
  }
  const closed = once(child, 'close')
  await waitFor(
    async () => {
      const [video] = proxy.stalled < 2 ? [] : await videos()
      return !!video && (await receivedBytes(video.videoId)).length === 1
    },
    () => `${proxy.requests.join('\n')}\n${printed}`,
  )
  child.kill(signal)
  await closed
  const { videoId, assets } = await onlyVideo()
  // The URL is printed before the file is sent.
  assert.deepEqual([child.exitCode, child.signalCode, printed], [null, signal, `${assets.player}\n`])
  assert.deepEqual(await receivedBytes(videoId), [0])
  proxy.handle = () => 'forward'
  proxy.requests = []
  return videoId
}

describe('kinora upload', () => {
  test('sends a file in chunks and prints the player URL', async (t) => {
    const home = await createHome(t, { 'My film.mp4': big })
    const proxy = await startProxy(t)
    const lines = await home.upload([home.path('My film.mp4')], { KINORA_URL: proxy.url })
    const { videoId, title, public: isPublic, assets } = await onlyVideo()
    assert.deepEqual(lines, [assets.player])
    assert.deepEqual([title, isPublic], ['My film', true])
    const source = `POST /videos/${videoId}/source`
    assert.deepEqual(
      proxy.requests.filter((name) => name.startsWith('POST')).sort(),
      ['POST /videos', `${source} 0`, `${source} 8388608`, `${source} 16777216`].sort(),
    )
    await assertSource(service.data, videoId, big)
    assert.deepEqual(await home.stateFiles(), [])
  })

  test('sends the beginning and then the index of an MP4 file first, also if a chunk is sent again', async (t) => {
    const index = box('moov', 2 * MiB)
    const film = Buffer.concat([box('ftyp', 16), box('mdat', 23 * MiB), index])
    const indexFrom = String(film.length - index.length)
    const home = await createHome(t, { 'film.mp4': film })
    const proxy = await startProxy(t)
    proxy.handle = (name) =>
      name.endsWith(` ${indexFrom}`) && proxy.requests.filter((each) => each === name).length === 1
        ? 'reset'
        : 'forward'
    await home.upload([home.path('film.mp4')], { KINORA_URL: proxy.url })
    const { videoId } = await onlyVideo()
    const sent = proxy.requests
      .filter((name) => name.includes('/source'))
      .map((name) => name.split(' ').at(-1))
    assert.deepEqual(sent, ['0', indexFrom, indexFrom, '8388608'])
    await assertSource(service.data, videoId, film)
  })

  for (const signal of ['SIGINT', 'SIGKILL'] as const) {
    test(`resumes an upload that ${signal} has interrupted`, async (t) => {
      const home = await createHome(t, { 'film.mp4': big })
      const proxy = await startProxy(t)
      const env = { KINORA_URL: proxy.url }
      const videoId = await interrupt(t, signal, proxy, home.path('film.mp4'), { ...home.env, ...env })
      assert.equal((await home.stateFiles()).length, 1)

      const lines = await home.upload([home.path('film.mp4')], env)
      assert.deepEqual(lines, [(await onlyVideo()).assets.player])
      const sent = proxy.requests.filter((name) => name.startsWith('POST')).sort()
      const source = `POST /videos/${videoId}/source`
      assert.deepEqual(sent, [`${source} 8388608`, `${source} 16777216`].sort())
      await assertSource(service.data, videoId, big)
      assert.deepEqual(await home.stateFiles(), [])
    })
  }

  test('starts again when the video of the interrupted upload is deleted or the file has changed', async (t) => {
    const home = await createHome(t, { 'film.mp4': big })
    const proxy = await startProxy(t)
    const env = { KINORA_URL: proxy.url }
    const deleted = await interrupt(t, 'SIGKILL', proxy, home.path('film.mp4'), { ...home.env, ...env })
    await call(`${service.url}/videos/${deleted}`, { method: 'DELETE' })
    await home.upload([home.path('film.mp4')], env)
    const complete = await onlyVideo()
    await assertSource(service.data, complete.videoId, big)

    await call(`${service.url}/videos/${complete.videoId}`, { method: 'DELETE' })
    proxy.stalled = 0
    const old = await interrupt(t, 'SIGKILL', proxy, home.path('film.mp4'), { ...home.env, ...env })
    const other = Buffer.from(big).reverse()
    await writeFile(home.path('film.mp4'), other.subarray(1))
    await home.upload([home.path('film.mp4')], env)
    const [first, second] = await videos()
    assert.equal(first?.videoId, old)
    await assertSource(service.data, second!.videoId, other.subarray(1))
  })

  test('sends a chunk again after a connection reset', async (t) => {
    const home = await createHome(t, { 'film.mp4': big })
    const proxy = await startProxy(t)
    proxy.handle = (name) =>
      name.endsWith(' 8388608') && proxy.requests.filter((each) => each === name).length === 1
        ? 'reset'
        : 'forward'
    await home.upload([home.path('film.mp4')], { KINORA_URL: proxy.url })
    const { videoId } = await onlyVideo()
    assert.equal(proxy.requests.filter((each) => each.endsWith(' 8388608')).length, 2)
    await assertSource(service.data, videoId, big)
  })

  test('does not resume a public video when the call asks for a private one or another title', async (t) => {
    const home = await createHome(t, { 'film.mp4': big })
    const proxy = await startProxy(t)
    const film = home.path('film.mp4')
    const env = { KINORA_URL: proxy.url }
    const interrupted = await interrupt(t, 'SIGKILL', proxy, film, { ...home.env, ...env })
    for (const args of [['--private'], ['--title', 'Secret'], ['--title', 'Secret', '--private']])
      await home.upload([film, ...args], env)
    const [first, ...others] = await videos()
    assert.deepEqual([first?.videoId, first?.public], [interrupted, true])
    assert.deepEqual(
      others.map(({ title, public: isPublic }) => [title, isPublic]),
      [
        ['film', false],
        ['Secret', true],
        ['Secret', false],
      ],
    )
    for (const { videoId } of others) await assertSource(service.data, videoId, big)
    assert.deepEqual(await receivedBytes(interrupted), [0])
    await home.upload([film], env)
    await assertSource(service.data, interrupted, big)
    assert.equal((await videos()).length, 4)
  })

  test('works without a writable home folder', async (t) => {
    const home = await createHome(t, { 'film.mp4': small })
    await home.upload([home.path('film.mp4')], { HOME: home.path('film.mp4') })
    const { videoId } = await onlyVideo()
    await assertSource(service.data, videoId, small)
  })

  test('starts again when the state file is damaged', async (t) => {
    const home = await createHome(t, { 'film.mp4': big })
    const proxy = await startProxy(t)
    const film = home.path('film.mp4')
    await interrupt(t, 'SIGKILL', proxy, film, { ...home.env, KINORA_URL: proxy.url })
    const [stateFile] = await home.stateFiles()
    assert.ok(stateFile)
    const damages = ['', '{"videoI', 'null', '{"videoId":7}', '{"videoId":"../upload-tokens"}']
    for (const [i, damage] of damages.entries()) {
      await writeFile(home.path(join('.cache/kinora/uploads', stateFile)), damage)
      await home.upload([film], { KINORA_URL: proxy.url })
      const made = await videos()
      assert.equal(made.length, i + 2)
      await assertSource(service.data, made.at(-1)!.videoId, big)
      assert.deepEqual(await home.stateFiles(), [])
    }
  })

  test('reports that a file has changed during its upload and deletes the video', async (t) => {
    const home = await createHome(t, { 'film.mp4': big })
    const proxy = await startProxy(t)
    const film = home.path('film.mp4')
    proxy.handle = (name) => {
      if (!name.endsWith(' 8388608')) return 'forward'
      appendFileSync(film, 'x')
      return 'reset'
    }
    const env = { ...home.env, KINORA_URL: proxy.url }
    const { code, stdout, stderr } = await runKinora(['upload', film], env)
    assert.equal(code, 1, stderr)
    assert.match(stdout, /^\S+\/vod\/vi\w+\n$/)
    assert.match(
      stderr,
      /^kinora: \S+film\.mp4 has changed since its upload began\. Its video was deleted: [^\n]+\n$/,
    )
    assert.deepEqual(await videos(), [])
    assert.deepEqual(await home.stateFiles(), [])
  })

  test('--title sets the title, --private makes the video private, and a path is relative to the folder of the user', async (t) => {
    const home = await createHome(t, { 'film.mp4': small })
    // npm runs its script in the folder of the package and passes the folder in which the user called it.
    const npm = { INIT_CWD: home.path('.'), npm_lifecycle_event: 'kinora' }
    await home.upload(['film.mp4', '--title', 'Ein Käfer', '--private'], npm)
    const { videoId, title, public: isPublic } = await onlyVideo()
    assert.deepEqual([title, isPublic], ['Ein Käfer', false])
    await assertSource(service.data, videoId, small)
  })

  test('uploads several files and prints one line for each in order, with --json as JSON', async (t) => {
    const home = await createHome(t, { 'one.mp4': small, 'two.mp4': big })
    const paths = [home.path('one.mp4'), home.path('two.mp4')]
    for (const isJson of [false, true]) {
      await query(service.database, 'delete from videos')
      const lines = await home.upload(isJson ? [...paths, '--json'] : paths)
      const made = await videos()
      assert.deepEqual(made.map(({ title }) => title).sort(), ['one', 'two'])
      const expected = paths.map((path) => {
        const video = made.find(({ title }) => title === basename(path, '.mp4'))!
        return { file: path, videoId: video.videoId, player: video.assets.player, failure: notAVideo }
      })
      assert.deepEqual(
        isJson ? lines.map((line) => JSON.parse(line)) : lines,
        isJson ? expected : expected.map(({ player }) => player),
      )
      for (const [i, content] of [small, big].entries()) {
        const { videoId } = made.find(({ title }) => title === basename(paths[i]!, '.mp4'))!
        await assertSource(service.data, videoId, content)
      }
    }
  })

  test('creates two videos when the same file is uploaded twice', async (t) => {
    const home = await createHome(t, { 'film.mp4': small })
    for (let n = 0; n < 2; n++) await home.upload([home.path('film.mp4')])
    const made = await videos()
    assert.equal(made.length, 2)
    for (const { videoId } of made) await assertSource(service.data, videoId, small)
  })

  test('uploads to the sandbox when KINORA_URL ends in /sandbox', async (t) => {
    const home = await createHome(t, { 'film.mp4': small })
    await home.upload([home.path('film.mp4')], {
      KINORA_URL: `${service.url}/sandbox/`,
      KINORA_KEY: sandboxKey,
    })
    assert.deepEqual(await videos(), [])
    const [video] = await videos('/sandbox', sandboxKey)
    await assertSource(service.data, video!.videoId, small)
  })

  test('prints why the service rejects a file, and how to delete its video', async (t) => {
    const home = await createHome(t, { 'one.mp4': small, 'two.mp4': small })
    const paths = [home.path('one.mp4'), home.path('two.mp4')]
    const { code, stdout, stderr } = await runKinora(['upload', ...paths], home.env)
    const made = await videos()
    assert.deepEqual([code, stdout], [1, made.map(({ assets }) => `${assets.player}\n`).join('')])
    const sentences = paths.map(
      (path, i) =>
        `${path} cannot be encoded. ${notAVideo} Its video is ${made[i]?.videoId}: replace the file with "npm run kinora -- upload FILE --video ${made[i]?.videoId}", or delete the video with "npm run kinora -- videos delete ${made[i]?.videoId}".\n`,
    )
    assert.equal(stderr, `kinora: ${sentences.join('')}`)
  })

  test('--video replaces a file that the service has rejected, also after an interruption', async (t) => {
    const home = await createHome(t, { 'wrong.mp4': small, 'film.mp4': big })
    await home.upload([home.path('wrong.mp4')])
    const { videoId, assets } = await onlyVideo()
    const proxy = await startProxy(t)
    const args = [home.path('film.mp4'), '--video', videoId]
    // Other chunks before the first one would belong to the rejected file.
    proxy.handle = (name) => (/ (8388608|16777216)$/.test(name) ? 'reset' : 'forward')
    const child = spawn(process.execPath, [kinoraCommand(), 'upload', ...args], {
      cwd: root,
      env: { PATH: process.env.PATH, ...home.env, KINORA_URL: proxy.url },
    })
    await waitFor(() => proxy.requests.some((name) => name.endsWith(' 16777216')))
    child.kill('SIGKILL')
    await once(child, 'close')
    const sent = proxy.requests.filter((name) => name.startsWith('POST'))
    assert.equal(sent[0], `POST /videos/${videoId}/source 0`)
    assert.ok(!sent.slice(1).includes(sent[0]!))

    proxy.handle = () => 'forward'
    proxy.requests = []
    assert.deepEqual(await home.upload(args, { KINORA_URL: proxy.url }), [assets.player])
    assert.ok(!proxy.requests.includes(sent[0]!), 'the first chunk is not sent again')
    assert.equal((await onlyVideo()).videoId, videoId)
    await assertSource(service.data, videoId, big)
  })

  test('prints one sentence and exits with code 1 on failure', async (t) => {
    const home = await createHome(t, {
      'film.mp4': small,
      'empty.mp4': Buffer.alloc(0),
      'notes.mp4': Buffer.from('Notes about the film.\n'),
    })
    await mkdir(home.path('folder'))
    const film = home.path('film.mp4')
    const cases = [
      [[home.path('none.mp4')], {}, /No such file: \S+none\.mp4$/m],
      [[home.path('folder')], {}, /folder is not a file/],
      [[home.path('empty.mp4')], {}, /empty\.mp4 is empty/],
      [[home.path('notes.mp4')], {}, /notes\.mp4 is text, not a video or audio file\./],
      [[film, home.path('notes.mp4')], {}, /notes\.mp4 is text/],
      [[film, home.path('none.mp4')], {}, /No such file: \S+none\.mp4$/m],
      [[film, film, home.path('empty.mp4')], {}, /empty\.mp4 is empty/],
      [[film], { KINORA_KEY: 'wrong' }, /responded with 401: /],
      [[film], { KINORA_KEY: '' }, /There is no API key for .* set KINORA_KEY/],
      [[film], { KINORA_URL: `${service.url}/sandbox` }, /responded with 401: /],
      [[film], { KINORA_URL: await closedUrl() }, /127\.0\.0\.1:\d+ cannot be reached: .*ECONNREFUSED/],
      [[film], { KINORA_URL: `${service.url}/nowhere` }, /responded with 404: /],
      [[film], { KINORA_URL: 'ftp://localhost' }, /KINORA_URL must/],
    ] as const
    await Promise.all(
      cases.map(async ([args, more, expected]) => {
        const env = { ...home.env, ...more }
        const { code, stdout, stderr } = await runKinora(['upload', ...args], env)
        assert.deepEqual([code, stdout], [1, ''], stderr)
        assert.match(stderr, /^kinora: [^\n]+\n$/)
        assert.match(stderr, expected)
      }),
    )
    assert.deepEqual(await videos(), [])
    assert.deepEqual(await home.stateFiles(), [])
  })

  test('exits with code 2 on an invalid call', async (t) => {
    const home = await createHome(t, { 'film.mp4': small })
    const film = home.path('film.mp4')
    const cases = [
      [[], {}, /FILE is missing: upload FILE…/],
      [[film, '--color'], {}, /--color/],
      [[film, '--title'], {}, /--title/],
      [[film, film, '--title', 'Both'], {}, /--title is for one file/],
      [[film, film, '--video', 'vi1'], {}, /--video is for one file/],
      [[film, '--video', 'vi1', '--private'], {}, /--private is for a new video/],
      [[film, '-e', 'production'], {}, /KINORA_KEY decides the environment/],
      [[film, '--name', 'x'], {}, /"upload" has no option --name\.\n/],
      [[film, '--tilte', 'x'], {}, /"upload" has no option --tilte\. Did you mean "--title"\?/],
    ] as const
    await Promise.all(
      cases.map(async ([args, more, expected]) => {
        const { code, stdout, stderr } = await runKinora(['upload', ...args], { ...home.env, ...more })
        assert.deepEqual([code, stdout], [2, ''], stderr)
        assert.match(stderr, /^kinora: [^\n]+\n\nFor help: npm run kinora -- upload --help\n$/)
        assert.match(stderr, expected)
      }),
    )
    assert.deepEqual(await videos(), [])
  })
})
