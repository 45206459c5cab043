import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import {
  call,
  kinora,
  kinoraCommand,
  productionKey,
  query,
  root,
  runKinora,
  type Service,
  sandboxKey,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { type GatedFfmpeg, gatedFfmpeg } from '../support/media/gated-ffmpeg.ts'
import { ffmpeg } from '../support/media/media.ts'
import { withoutThumbnails } from '../support/programs.ts'
import { createVideo, encodingOf, type Quality, uploadVideo, waitForEncoding } from '../support/videos.ts'

// Runs `kinora videos` and `kinora upload --watch` against a real service.

let folder: string
let gated: GatedFfmpeg
let service: Service
/** 8 s of 640x360: segments of 1, 1, 2, 2 and 2 s. */
let clip: string
/** 1 s of 640x360. */
let short: string
let text: string
const ends: (() => unknown)[] = []

before(async () => {
  folder = await temporaryFolder({ after })
  gated = await gatedFfmpeg(folder, withoutThumbnails().KINORA_FFMPEG)
  service = await kinora(
    { after: (end) => ends.push(end) },
    {
      // With one slot, the order of the work is known.
      KINORA_FFMPEG: gated.path,
      KINORA_ENCODE_SLOTS: '1',
      KINORA_ENCODE_STALL_SECONDS: '600',
    },
  )
  clip = join(folder, 'clip.mp4')
  short = join(folder, 'short.mp4')
  text = join(folder, 'text.mp4')
  const codec = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p']
  await Promise.all([
    ffmpeg('-f', 'lavfi', '-i', 'testsrc2=s=640x360:r=6', '-t', '8', ...codec, clip),
    ffmpeg('-f', 'lavfi', '-i', 'testsrc2=s=640x360:r=6', '-t', '1', ...codec, short),
    // The zero keeps the command from recognizing it.
    writeFile(text, 'This is not a video.\n\0'.repeat(100)),
  ])
})
after(async () => {
  for (const end of ends) await end()
})

const env = () => ({ HOME: folder, KINORA_URL: service.url, KINORA_KEY: productionKey })

async function run(args: string[], more: Record<string, string> = {}) {
  const { code, stdout, stderr } = await runKinora(args, { ...env(), ...more })
  return { code, stdout, stderr, lines: stdout.split('\n').slice(0, -1) }
}

type Running = { printed(): string; ended: Promise<number | null> }

/** Starts a command in the background. */
function start(t: TestContext, command: string, args: string[], more: Record<string, string> = {}): Running {
  const child = spawn(command, args, {
    cwd: root,
    env: { PATH: process.env.PATH, ...env(), ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  let printed = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk) => {
      printed += chunk
    })
  return { printed: () => printed, ended: once(child, 'close').then(() => child.exitCode) }
}

type Proxy = {
  url: string
  requests: number
  /** How the next requests fail: with a status, or with the end of the connection. */
  faults: ('503' | 'reset')[]
}

/** A proxy to the service that counts requests. */
async function startProxy(t: TestContext): Promise<Proxy> {
  const state: Proxy = { url: '', requests: 0, faults: [] }
  const server = createServer(async ({ url = '', headers, socket }, response) => {
    const { authorization = '' } = headers
    const fault = state.faults.shift()
    if (fault === 'reset') return void socket.destroy()
    if (fault) return void response.writeHead(Number(fault)).end('{"title":"Unavailable."}')
    const upstream = await fetch(service.url + url, { headers: { authorization } })
    const body = await upstream.text()
    state.requests++
    response.writeHead(upstream.status, { 'content-type': 'application/json' }).end(body)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return state
}

/** Creates a video and encodes only the first of its five segments, in the lowest quality. */
async function partlyEncodedVideo(t: TestContext): Promise<string> {
  t.after(gated.encodeAll)
  await gated.encodeUntil(1)
  const videoId = await uploadVideo(service, clip, { mp4Support: false })
  await waitFor(async () => {
    const { qualities } = await encodingOf(service, videoId)
    return qualities.length === 2 && qualities[0]?.progress === 20
  })
  // The next chunk waits for the gate.
  const leased = 'select from chunks where video_id = $1 and lease_owner is not null'
  await waitFor(async () => (await query(service.database, leased, [videoId])).length > 0)
  await waitFor(async () => {
    const { qualities } = await encodingOf(service, videoId)
    const [row] = await query(
      service.database,
      `select qualities from chunks where video_id = $1 and lease_owner is not null`,
      [videoId],
    )
    return qualities.every(
      ({ quality, status }) => status === 'encoding' || !row?.qualities.includes(quality),
    )
  })
  return videoId
}

/** What is printed of such a video. The next chunk has one or both qualities. */
async function partlyEncoded(videoId: string): Promise<string[]> {
  const [, higher] = (await encodingOf(service, videoId)).qualities
  return [`hls 240p   ${bar(6)}  20 %  encoding`, `hls 360p   ${bar(0)}   0 %  ${higher?.status}`]
}

const control = '\x1b'
const bar = (filled: number) => '█'.repeat(filled) + '░'.repeat(30 - filled)
const encoded = ['240p', '360p'].map((name) => `hls ${name}   ${bar(30)} 100 %  encoded`)

describe('kinora videos status', () => {
  test('--watch continues when the service is available again', async (t) => {
    const videoId = await partlyEncodedVideo(t)
    const proxy = await startProxy(t)
    proxy.faults = ['503']
    const args = [kinoraCommand(), 'videos', 'status', videoId, '--watch']
    const { printed, ended } = start(t, process.execPath, args, { KINORA_URL: proxy.url })
    await waitFor(() => printed().includes('20 %'), printed)
    proxy.faults = ['503', 'reset', '503']
    await waitFor(() => proxy.faults.length === 0, printed)
    await gated.encodeAll()
    assert.equal(await ended, 0, printed())
    assert.equal(printed().match(/responded with 503: Unavailable\. Trying again\./g)?.length, 2, printed())
    assert.ok(printed().endsWith(`${encoded.join('\n')}\n`), printed())
  })

  test('prints that nothing is uploaded or the progress of each quality, and with --json the status of the API', async (t) => {
    const empty = await createVideo(service)
    const nothing = { code: 0, stderr: '', lines: ['Nothing has been uploaded yet.'] }
    const { stdout: _, ...printed } = await run(['videos', 'status', empty])
    assert.deepEqual(printed, nothing)

    const videoId = await partlyEncodedVideo(t)
    assert.deepEqual((await run(['videos', 'status', videoId])).lines, await partlyEncoded(videoId))
    const { stdout } = await run(['videos', 'status', videoId, '--json'])
    assert.match(stdout, /^[^\n]+\n$/)
    assert.deepEqual(JSON.parse(stdout), (await call(`${service.url}/videos/${videoId}/status`)).body)
    await gated.encodeAll()
    await waitForEncoding(service, videoId)
    const { code, lines, stderr } = await run(['videos', 'status', videoId])
    assert.deepEqual([code, lines, stderr], [0, encoded, ''])
  })

  test('prints why a source cannot be used, and exits with code 1 only with --watch', async (t) => {
    const videoId = await uploadVideo(service, text)
    const { qualities } = await waitForEncoding(service, videoId)
    const line = `hls 240p   ${bar(0)}   0 %  failed: ${qualities[0]!.failure}`
    const status = await run(['videos', 'status', videoId])
    assert.deepEqual([status.code, status.lines, status.stderr], [0, [line], ''])
    const watch = await run(['videos', 'status', videoId, '--watch'])
    assert.deepEqual([watch.code, watch.lines, watch.stderr], [1, [line], ''])

    const server = createServer((_, response) => response.writeHead(404).end())
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
    t.after(() => server.close())
    const source = `http://127.0.0.1:${(server.address() as AddressInfo).port}/film.mp4`
    const made = await call(`${service.url}/videos`, { method: 'POST', json: { title: 'x', source } })
    const fetched = await run(['videos', 'status', made.body.videoId, '-w'])
    assert.equal(fetched.code, 1, fetched.stdout)
    assert.match(fetched.lines.at(-1)!, /^The source could not be fetched: \S/)
  })

  test('--watch prints each change once and ends when all qualities are encoded', async (t) => {
    const videoId = await partlyEncodedVideo(t)
    const counter = await startProxy(t)
    const args = [kinoraCommand(), 'videos', 'status', videoId, '--watch']
    const watch = start(t, process.execPath, args, { KINORA_URL: counter.url })
    await waitFor(() => counter.requests >= 3)
    assert.equal(watch.printed(), `${(await partlyEncoded(videoId)).join('\n')}\n`)
    await gated.encodeUntil(6)
    const before = counter.requests
    await waitFor(() => counter.requests >= before + 2)
    await gated.encodeAll()
    assert.equal(await watch.ended, 0)
    const lines = watch.printed().trimEnd().split('\n')
    assert.deepEqual(lines.slice(-2), encoded)
    const states = Array.from({ length: lines.length / 2 }, (_, i) =>
      lines.slice(2 * i, 2 * i + 2).join('\n'),
    )
    assert.equal(new Set(states).size, states.length, watch.printed())
    assert.ok(!watch.printed().includes(control))
  })

  test('--watch fails when nothing is uploaded', async () => {
    const { code, stderr } = await run(['videos', 'status', await createVideo(service), '--watch'])
    assert.deepEqual([code, stderr], [1, 'kinora: There is nothing to watch.\n'])
  })

  const hasScript = spawnSync('script', ['--version']).status === 0
  const skip = hasScript
    ? false
    : 'the command script is not installed, which the test needs to open a terminal'
  test('--watch redraws its output on a terminal, also when lines wrap', { skip }, async (t) => {
    const videoId = await partlyEncodedVideo(t)
    const counter = await startProxy(t)
    const columns = 40
    const command = `stty cols ${columns} && exec '${process.execPath}' '${kinoraCommand()}' videos status ${videoId} -w`
    const watch = start(t, 'script', ['-qec', command, '/dev/null'], { KINORA_URL: counter.url })
    await waitFor(() => counter.requests >= 2)
    await gated.encodeAll()
    assert.equal(await watch.ended, 0, watch.printed())
    assert.ok(watch.printed().includes(control))
    assert.deepEqual(
      screenOf(watch.printed(), columns),
      encoded.flatMap((line) => wrap(line, columns)),
    )
  })
})

const wrap = (line: string, columns: number) =>
  Array.from({ length: Math.ceil(line.length / columns) }, (_, i) =>
    line.slice(i * columns, (i + 1) * columns).trimEnd(),
  )

/** The final screen of a terminal that supports line breaks, cursor up and erase below. */
function screenOf(output: string, columns: number): string[] {
  const rows = ['']
  let row = 0
  const tokens = new RegExp(`${control}\\[(\\d+)A|${control}\\[J|\\r?\\n|[^${control}\\r\\n]+`, 'g')
  for (const [token, up] of output.matchAll(tokens)) {
    if (up !== undefined) row = Math.max(0, row - Number(up))
    else if (token === `${control}[J`) rows.splice(row, Number.POSITIVE_INFINITY, '')
    else if (token.endsWith('\n')) rows[++row] ??= ''
    else {
      const [first = '', ...others] = wrap(token, columns)
      rows[row] = first
      for (const other of others) rows[++row] = other
    }
  }
  return rows.slice(0, row)
}

describe('kinora videos retry', () => {
  test('encodes only the failed qualities again', async (t) => {
    t.after(gated.repair)
    await gated.breakFor('*/360p.mp4', 'The encoder is out of order')
    const videoId = await uploadVideo(service, short, { mp4Support: false })
    const watch = await run(['videos', 'status', videoId, '--watch'])
    assert.equal(watch.code, 1, watch.stderr)
    const failed = `hls 360p   ${bar(0)}   0 %  failed: A part of the video cannot be decoded or encoded.`
    assert.deepEqual(watch.lines.slice(-2), [encoded[0], failed])
    await gated.repair()
    await gated.breakFor('*/240p.mp4', 'It must not be encoded again')
    const retry = await run(['videos', 'retry', videoId])
    assert.deepEqual([retry.code, retry.stderr], [0, ''])
    assert.match(retry.stdout, new RegExp(`^[^\\n]*npm run kinora -- videos status ${videoId} --watch\\n$`))
    const again = await run(['videos', 'status', videoId, '--watch'])
    assert.deepEqual([again.code, again.lines.slice(-2)], [0, encoded])

    const second = await run(['videos', 'retry', videoId])
    assert.deepEqual([second.code, second.stdout], [1, ''])
    assert.match(second.stderr, /^kinora: \S+ responded with 409: [^\n]+\n$/)
  })
})

describe('kinora upload --watch', () => {
  const qualitiesIn = (printed: string) => printed.split('\n').filter((line) => /^(hls|mp4) /.test(line))

  test('prints the encoding progress to stderr and the player URL to stdout', async () => {
    const { code, lines, stderr } = await run(['upload', short, '--watch'])
    assert.equal(code, 0, stderr)
    assert.equal(lines.length, 1)
    const videoId = /vi\w+$/.exec(lines[0]!)![0]
    const { body } = await call(`${service.url}/videos/${videoId}`)
    assert.equal(lines[0], body.assets.player)
    assert.deepEqual(
      stderr.split('\n').filter((line) => line.startsWith('Watch: ')),
      [`Watch: ${lines[0]}`],
    )
    assert.deepEqual(qualitiesIn(stderr).slice(-3), [...encoded, `mp4 360p   ${bar(30)} 100 %  encoded`])
    const { qualities } = await encodingOf(service, videoId)
    assert.ok(qualities.every(({ status }: Quality) => status === 'encoded'))
  })

  test('fails when the file cannot be encoded, and still prints the video id and the player URL', async () => {
    const { code, lines, stderr } = await run(['upload', text, '--watch', '--json'])
    assert.deepEqual([code, stderr, lines.length], [1, '', 1])
    const { file, videoId, player, status } = JSON.parse(lines[0]!)
    assert.equal(file, text)
    assert.equal(status.encoding.qualities[0].status, 'failed')
    assert.equal((await call(`${service.url}/videos/${videoId}`)).body.assets.player, player)
  })
})

test('videos delete deletes a video, and says whether it can be restored', async () => {
  const videoId = await createVideo(service)
  const { code, stdout, stderr } = await run(['videos', 'delete', videoId])
  const expected = new RegExp(
    `^${videoId} deleted\\. Until [\\dT:+-]+, it can be restored: .*kinora .*videos restore ${videoId}\\n$`,
  )
  assert.match(stdout, expected)
  assert.deepEqual([code, stderr], [0, ''])
  assert.equal((await call(`${service.url}/videos/${videoId}`)).status, 404)
  const again = await run(['videos', 'delete', videoId])
  assert.equal(again.code, 1)
  assert.match(again.stderr, /responded with 404: /)
})

test('videos delete --permanently deletes a video, or one that is already deleted, for good', async () => {
  const [videoId, deleted] = [await createVideo(service), await createVideo(service)]
  await run(['videos', 'delete', deleted])
  const { code, stdout, stderr } = await run(['videos', 'delete', videoId, '--permanently'])
  assert.deepEqual([code, stdout], [0, `${videoId} permanently deleted.\n`], stderr)
  const { lines } = await run(['videos', 'delete', deleted, '--permanently', '--json'])
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    [{ videoId: deleted, deletesAt: null }],
  )
  for (const id of [videoId, deleted])
    assert.equal((await call(`${service.url}/discarded/videos/${id}`)).status, 404)
  const again = await run(['videos', 'delete', videoId, '--permanently'])
  assert.equal(again.code, 1)
  assert.match(again.stderr, /responded with 404: /)
})

test('an invalid call exits with code 2', async () => {
  const videoId = await createVideo(service)
  const cases = [
    [['videos'], {}, /"videos" needs a subcommand: list, status, /],
    [
      ['videos', 'watch', videoId],
      {},
      /There is no command "videos watch"\. Subcommands of "videos": list, /,
    ],
    [['videos', 'lsit'], {}, /There is no command "videos lsit"\. Did you mean "videos list"\?/],
    [['videos', 'status'], {}, /VIDEO is missing: videos status VIDEO/],
    [['videos', 'retry'], {}, /VIDEO is missing: videos retry VIDEO/],
    [['videos', 'status', videoId, videoId], {}, /is an unexpected argument/],
    [['videos', 'retry', videoId, videoId], {}, /is an unexpected argument/],
    [['videos', 'retry', videoId, '--watch'], {}, /"videos retry" has no option --watch/],
    [['videos', 'status', videoId, '--title', 'x'], {}, /"videos status" has no option --title/],
  ] as const
  await Promise.all(
    cases.map(async ([args, more, expected]) => {
      const { code, stdout, stderr } = await run([...args], more)
      assert.deepEqual([code, stdout], [2, ''], stderr)
      assert.match(stderr, /^kinora: [^\n]+\n\nFor help: npm run kinora -- videos [^\n]*--help\n$/)
      assert.match(stderr, expected)
    }),
  )
})

test('warnings of the service are printed on stderr, and do not change the result', async (t) => {
  const unknown = 'Unknown query parameter "a" was ignored.'
  const page = JSON.stringify({ data: [], pagination: { itemsTotal: 0, pagesTotal: 1 } })
  const newer = createServer((_, response) => response.setHeader('kinora-warnings', unknown).end(page))
  await new Promise<void>((listening) => newer.listen(0, '127.0.0.1', listening))
  t.after(() => newer.close())
  const KINORA_URL = `http://127.0.0.1:${(newer.address() as AddressInfo).port}`
  const text = await run(['videos', 'list'], { KINORA_URL })
  assert.deepEqual(
    [text.code, text.lines, text.stderr],
    [0, ['There are no videos.'], `warning: ${unknown}\n`],
  )
  const json = await run(['videos', 'list', '--json'], { KINORA_URL })
  assert.deepEqual([json.code, json.stdout, JSON.parse(json.stderr)], [0, '[]\n', { warning: unknown }])
})

test('a failed command prints one sentence and exits with code 1', async (t) => {
  const videoId = await createVideo(service)
  const website = createServer((_, response) => response.end('<!doctype html>'))
  await new Promise<void>((listening) => website.listen(0, '127.0.0.1', listening))
  t.after(() => website.close())
  const websiteUrl = `http://127.0.0.1:${(website.address() as AddressInfo).port}`
  const cases = [
    [['status', 'vi00000000000000'], {}, /responded with 404: /],
    [['status', '../videos', '--watch'], {}, /responded with 404: /],
    [['status', 'nobody'], {}, /responded with 404: /],
    [['retry', 'vi00000000000000'], {}, /responded with 404: /],
    [['retry', videoId], {}, /responded with 409: /],
    [['status', videoId], { KINORA_KEY: 'wrong' }, /responded with 401: /],
    [['status', videoId], { KINORA_KEY: '' }, /There is no API key for /],
    [['retry', videoId], { KINORA_KEY: sandboxKey }, /responded with 404: /],
    [['retry', videoId], { KINORA_URL: `${service.url}/sandbox` }, /responded with 401: /],
    [
      ['status', videoId, '--watch'],
      { KINORA_URL: `${service.url}/sandbox`, KINORA_KEY: sandboxKey },
      /responded with 404: /,
    ],
    [['status', videoId, '--watch'], { KINORA_URL: 'http://127.0.0.1:9' }, /cannot be reached: /],
    [['status', videoId], { KINORA_URL: websiteUrl }, /is not the API of Kinora: .* Check KINORA_URL\./],
  ] as const
  await Promise.all(
    cases.map(async ([args, more, expected]) => {
      const { code, stdout, stderr } = await run(['videos', ...args], more)
      assert.deepEqual([code, stdout], [1, ''], stderr)
      assert.match(stderr, /^kinora: [^\n]+\n$/)
      assert.match(stderr, expected)
    }),
  )
})
