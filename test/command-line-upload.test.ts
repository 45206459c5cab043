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
  MiB,
  productionKey,
  query,
  root,
  runKinora,
  sandboxKey,
  sharedKinora,
  temporaryFolder,
  waitFor,
} from './harness.ts'
import { withoutEncoding } from './programs.ts'

// `kinora upload` as a user runs it, against a real service.

const service = sharedKinora(withoutEncoding())
/** Three chunks of the command: 8 MiB, 8 MiB and the rest. */
const big = randomBytes(24 * MiB + 77)
const small = big.subarray(0, 100_000)

/** A home of its own, where the command remembers what it has begun, and files to upload. */
async function home(t: TestContext, files: Record<string, Buffer>) {
  const folder = await temporaryFolder(t)
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content)
  const env = { HOME: folder, KINORA_URL: service.url, KINORA_KEY: productionKey }
  return {
    env,
    path: (name: string) => join(folder, name),
    /** What it remembers of unfinished uploads. */
    memories: () => readdir(join(folder, '.cache/kinora/uploads')).catch(() => [] as string[]),
    async upload(args: string[], more: Record<string, string> = {}): Promise<string[]> {
      const { code, stdout, stderr } = await runKinora(['upload', ...args], { ...env, ...more })
      assert.deepEqual([code, stderr], [0, ''], stdout)
      assert.ok(stdout.endsWith('\n'))
      return stdout.trimEnd().split('\n')
    },
  }
}

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

/** An address where nobody listens (any more). */
async function closedAddress(): Promise<string> {
  const server = createServer()
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  await new Promise((done) => server.close(done))
  return `http://127.0.0.1:${port}`
}

type Proxy = {
  url: string
  /** Method, path and first byte of each request that has come. */
  requests: string[]
  /** What is done with a request: passed on, stopped when a MiB of it has been passed on, or cut off. */
  treat: (request: string) => 'pass' | 'stop' | 'cut'
  /** How many stand still. */
  stopped: number
}

/** Stands between command and service, and decides what comes through. */
async function proxy(t: TestContext): Promise<Proxy> {
  const state: Proxy = { url: '', requests: [], treat: () => 'pass', stopped: 0 }
  const pass = (near: IncomingMessage, reply: ServerResponse) => {
    const [, from] = /^bytes (\d+)-/.exec(near.headers['content-range'] ?? '') ?? []
    const name = [near.method, near.url, from].filter(Boolean).join(' ')
    state.requests.push(name)
    const treatment = state.treat(name)
    if (treatment === 'cut') return near.socket.destroy()
    const { method = '', url = '', headers } = near
    const far = request(service.url + url, { method, headers, agent: false }, (answer) => {
      reply.writeHead(answer.statusCode ?? 0, answer.headers)
      answer.pipe(reply)
    })
    far.on('error', () => reply.destroy())
    near.on('error', () => {})
    reply.on('close', () => far.destroy())
    if (treatment === 'pass') return near.pipe(far)
    let passedBytes = 0
    // The rest is read and thrown away, as the end of a connection that nobody reads goes unnoticed.
    near.on('data', (chunk: Buffer) => {
      if (passedBytes >= MiB) return
      far.write(chunk)
      passedBytes += chunk.length
      if (passedBytes >= MiB) state.stopped++
    })
  }
  const server = createServer(pass)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return state
}

/** Begins an upload, and ends the command by the signal once one chunk has arrived and two stand still. */
async function interrupt(
  t: TestContext,
  signal: NodeJS.Signals,
  way: Proxy,
  path: string,
  env: Record<string, string>,
) {
  way.treat = (name) => (/ (8388608|16777216)$/.test(name) ? 'stop' : 'pass')
  const child = spawn(process.execPath, ['bin/kinora.mjs', 'upload', path], {
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
      const [video] = way.stopped < 2 ? [] : await videos()
      return !!video && (await receivedBytes(video.videoId)).length === 1
    },
    () => `${way.requests.join('\n')}\n${printed}`,
  )
  child.kill(signal)
  await closed
  assert.deepEqual([child.exitCode, child.signalCode, printed], [null, signal, ''])
  const { videoId } = await onlyVideo()
  assert.deepEqual(await receivedBytes(videoId), [0])
  way.treat = () => 'pass'
  way.requests = []
  return videoId
}

describe('kinora upload', () => {
  test('sends a file in chunks, and prints the address of its player', async (t) => {
    const at = await home(t, { 'My film.mp4': big })
    const way = await proxy(t)
    const lines = await at.upload([at.path('My film.mp4')], { KINORA_URL: way.url })
    const { videoId, title, public: isPublic, assets } = await onlyVideo()
    assert.deepEqual(lines, [assets.player])
    assert.deepEqual([title, isPublic], ['My film.mp4', true])
    const source = `POST /videos/${videoId}/source`
    assert.deepEqual(
      way.requests.sort(),
      ['POST /videos', `${source} 0`, `${source} 8388608`, `${source} 16777216`].sort(),
    )
    await assertSource(service.data, videoId, big)
    assert.deepEqual(await at.memories(), [])
  })

  for (const signal of ['SIGINT', 'SIGKILL'] as const) {
    test(`goes on where it was when ${signal} has ended it`, async (t) => {
      const at = await home(t, { 'film.mp4': big })
      const way = await proxy(t)
      const env = { KINORA_URL: way.url }
      const videoId = await interrupt(t, signal, way, at.path('film.mp4'), { ...at.env, ...env })
      assert.equal((await at.memories()).length, 1)

      const lines = await at.upload([at.path('film.mp4')], env)
      assert.deepEqual(lines, [(await onlyVideo()).assets.player])
      const sent = way.requests.filter((name) => name.startsWith('POST')).sort()
      const source = `POST /videos/${videoId}/source`
      assert.deepEqual(sent, [`${source} 8388608`, `${source} 16777216`].sort())
      await assertSource(service.data, videoId, big)
      assert.deepEqual(await at.memories(), [])
    })
  }

  test('begins anew when the interrupted video is gone, or the file is another by now', async (t) => {
    const at = await home(t, { 'film.mp4': big })
    const way = await proxy(t)
    const env = { KINORA_URL: way.url }
    const gone = await interrupt(t, 'SIGKILL', way, at.path('film.mp4'), { ...at.env, ...env })
    await call(`${service.url}/videos/${gone}`, { method: 'DELETE' })
    await at.upload([at.path('film.mp4')], env)
    const whole = await onlyVideo()
    await assertSource(service.data, whole.videoId, big)

    await call(`${service.url}/videos/${whole.videoId}`, { method: 'DELETE' })
    way.stopped = 0
    const old = await interrupt(t, 'SIGKILL', way, at.path('film.mp4'), { ...at.env, ...env })
    const other = Buffer.from(big).reverse()
    await writeFile(at.path('film.mp4'), other.subarray(1))
    await at.upload([at.path('film.mp4')], env)
    const [first, second] = await videos()
    assert.equal(first?.videoId, old)
    await assertSource(service.data, second!.videoId, other.subarray(1))
  })

  test('sends a chunk again whose connection broke', async (t) => {
    const at = await home(t, { 'film.mp4': big })
    const way = await proxy(t)
    way.treat = (name) =>
      name.endsWith(' 8388608') && way.requests.filter((each) => each === name).length === 1 ? 'cut' : 'pass'
    await at.upload([at.path('film.mp4')], { KINORA_URL: way.url })
    const { videoId } = await onlyVideo()
    assert.equal(way.requests.filter((each) => each.endsWith(' 8388608')).length, 2)
    await assertSource(service.data, videoId, big)
  })

  test('does not go on with a public video when a private one, or another title, is asked for', async (t) => {
    const at = await home(t, { 'film.mp4': big })
    const way = await proxy(t)
    const film = at.path('film.mp4')
    const env = { KINORA_URL: way.url }
    const begun = await interrupt(t, 'SIGKILL', way, film, { ...at.env, ...env })
    for (const args of [['--private'], ['--title', 'Secret'], ['--title', 'Secret', '--private']])
      await at.upload([film, ...args], env)
    const [first, ...others] = await videos()
    assert.deepEqual([first?.videoId, first?.public], [begun, true])
    assert.deepEqual(
      others.map(({ title, public: isPublic }) => [title, isPublic]),
      [
        ['film.mp4', false],
        ['Secret', true],
        ['Secret', false],
      ],
    )
    for (const { videoId } of others) await assertSource(service.data, videoId, big)
    assert.deepEqual(await receivedBytes(begun), [0])
    await at.upload([film], env)
    await assertSource(service.data, begun, big)
    assert.equal((await videos()).length, 4)
  })

  test('works without a home that it could remember anything in', async (t) => {
    const at = await home(t, { 'film.mp4': small })
    await at.upload([at.path('film.mp4')], { HOME: at.path('film.mp4') })
    const { videoId } = await onlyVideo()
    await assertSource(service.data, videoId, small)
  })

  test('begins anew when what it remembers is damaged', async (t) => {
    const at = await home(t, { 'film.mp4': big })
    const way = await proxy(t)
    const film = at.path('film.mp4')
    await interrupt(t, 'SIGKILL', way, film, { ...at.env, KINORA_URL: way.url })
    const [memory] = await at.memories()
    assert.ok(memory)
    const damages = ['', '{"videoI', 'null', '{"videoId":7}', '{"videoId":"../upload-tokens"}']
    for (const [i, damage] of damages.entries()) {
      await writeFile(at.path(join('.cache/kinora/uploads', memory)), damage)
      await at.upload([film], { KINORA_URL: way.url })
      const made = await videos()
      assert.equal(made.length, i + 2)
      await assertSource(service.data, made.at(-1)!.videoId, big)
      assert.deepEqual(await at.memories(), [])
    }
  })

  test('says that a file has changed while it was uploaded, and leaves no video', async (t) => {
    const at = await home(t, { 'film.mp4': big })
    const way = await proxy(t)
    const film = at.path('film.mp4')
    way.treat = (name) => {
      if (!name.endsWith(' 8388608')) return 'pass'
      appendFileSync(film, 'x')
      return 'cut'
    }
    const env = { ...at.env, KINORA_URL: way.url }
    const { code, stdout, stderr } = await runKinora(['upload', film], env)
    assert.deepEqual([code, stdout], [1, ''], stderr)
    assert.match(stderr, /^kinora: \S+film\.mp4 has changed since its upload began: [^\n]+\n$/)
    assert.deepEqual(await videos(), [])
    assert.deepEqual(await at.memories(), [])
  })

  test('gives the video a title, and makes it private when asked to', async (t) => {
    const at = await home(t, { 'film.mp4': small })
    await at.upload([at.path('film.mp4'), '--title', 'Ein Käfer', '--private'])
    const { videoId, title, public: isPublic } = await onlyVideo()
    assert.deepEqual([title, isPublic], ['Ein Käfer', false])
    await assertSource(service.data, videoId, small)
  })

  test('takes several files, and prints a line for each in their order, as JSON when asked to', async (t) => {
    const at = await home(t, { 'one.mp4': small, 'two.mp4': big })
    const paths = [at.path('one.mp4'), at.path('two.mp4')]
    for (const isJson of [false, true]) {
      await query(service.database, 'delete from videos')
      const lines = await at.upload(isJson ? [...paths, '--json'] : paths)
      const made = await videos()
      assert.deepEqual(made.map(({ title }) => title).sort(), ['one.mp4', 'two.mp4'])
      const expected = paths.map((path) => {
        const video = made.find(({ title }) => title === basename(path))!
        return { file: path, videoId: video.videoId, player: video.assets.player }
      })
      assert.deepEqual(
        isJson ? lines.map((line) => JSON.parse(line)) : lines,
        isJson ? expected : expected.map(({ player }) => player),
      )
      for (const [i, content] of [small, big].entries()) {
        const { videoId } = made.find(({ title }) => title === basename(paths[i]!))!
        await assertSource(service.data, videoId, content)
      }
    }
  })

  test('the same file twice makes two videos', async (t) => {
    const at = await home(t, { 'film.mp4': small })
    for (let n = 0; n < 2; n++) await at.upload([at.path('film.mp4')])
    const made = await videos()
    assert.equal(made.length, 2)
    for (const { videoId } of made) await assertSource(service.data, videoId, small)
  })

  test('uploads into the sandbox by its address', async (t) => {
    const at = await home(t, { 'film.mp4': small })
    await at.upload([at.path('film.mp4')], { KINORA_URL: `${service.url}/sandbox/`, KINORA_KEY: sandboxKey })
    assert.deepEqual(await videos(), [])
    const [video] = await videos('/sandbox', sandboxKey)
    await assertSource(service.data, video!.videoId, small)
  })

  test('says in one sentence what is wrong, and the exit code is 1', async (t) => {
    const at = await home(t, { 'film.mp4': small, 'empty.mp4': Buffer.alloc(0) })
    await mkdir(at.path('folder'))
    const film = at.path('film.mp4')
    const cases = [
      [[at.path('none.mp4')], {}, /none\.mp4 cannot be read: ENOENT/],
      [[at.path('folder')], {}, /folder is not a file/],
      [[at.path('empty.mp4')], {}, /empty\.mp4 is empty/],
      [[film, at.path('none.mp4')], {}, /none\.mp4 cannot be read: ENOENT/],
      [[film, film, at.path('empty.mp4')], {}, /empty\.mp4 is empty/],
      [[film], { KINORA_KEY: 'wrong' }, /answered 401: /],
      [[film], { KINORA_URL: `${service.url}/sandbox` }, /answered 401: /],
      [[film], { KINORA_URL: await closedAddress() }, /127\.0\.0\.1:\d+ cannot be reached: .*ECONNREFUSED/],
      [[film], { KINORA_URL: `${service.url}/nowhere` }, /answered 404: /],
      [[film], { KINORA_URL: 'ftp://localhost' }, /KINORA_URL must/],
    ] as const
    await Promise.all(
      cases.map(async ([args, more, expected]) => {
        const env = { ...at.env, ...more }
        const { code, stdout, stderr } = await runKinora(['upload', ...args], env)
        assert.deepEqual([code, stdout], [1, ''], stderr)
        assert.match(stderr, /^kinora: [^\n]+\n$/)
        assert.match(stderr, expected)
      }),
    )
    assert.deepEqual(await videos(), [])
    assert.deepEqual(await at.memories(), [])
  })

  test('a call that is not understood is refused with exit code 2', async (t) => {
    const at = await home(t, { 'film.mp4': small })
    const film = at.path('film.mp4')
    const cases = [
      [[], {}, /Which file\?/],
      [[film, '--colour'], {}, /--colour/],
      [[film, '--title'], {}, /--title/],
      [[film, film, '--title', 'Both'], {}, /--title is for one file/],
      [[film, '-e', 'production'], {}, /"kinora upload" has no option --environment/],
      [[film, '--name', 'x'], {}, /"kinora upload" has no option --name/],
      [[film], { KINORA_KEY: '' }, /KINORA_KEY/],
    ] as const
    await Promise.all(
      cases.map(async ([args, more, expected]) => {
        const { code, stdout, stderr } = await runKinora(['upload', ...args], { ...at.env, ...more })
        assert.deepEqual([code, stdout], [2, ''], stderr)
        assert.match(stderr, /^kinora: [^\n]+\n\nkinora --help shows what there is\.\n$/)
        assert.match(stderr, expected)
      }),
    )
    assert.deepEqual(await videos(), [])
  })
})
