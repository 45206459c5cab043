import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { type Received, startRtmpServer } from '../../server/live/ingest/rtmp/test-server.ts'
import {
  call,
  kinora,
  kinoraCommand,
  productionKey,
  query,
  root,
  runKinora,
  sandboxKey,
  sharedKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { rtmpPort } from '../support/live/encoders.ts'
import { createLiveStream } from '../support/live/live-streams.ts'
import { ffmpeg } from '../support/media/media.ts'

// `kinora live` against a real service. The RTMP server is started by the tests, so that they can look at what arrives.

const service = sharedKinora({ KINORA_ROLES: 'api' })
const env = () => ({ KINORA_URL: service.url, KINORA_KEY: productionKey })
let folder: string

before(async () => {
  folder = await temporaryFolder({ after })
})
beforeEach(() => query(service.database, 'delete from live_streams'))

async function run(args: string[], more: Record<string, string> = {}) {
  const { code, stdout, stderr } = await runKinora(['live', ...args], { ...env(), ...more })
  return { code, stdout, stderr, lines: stdout.split('\n').slice(0, -1) }
}

const streams = async () => (await call(`${service.url}/live-streams`)).body.data

test('live create, list and key print what an encoder needs', async () => {
  const created = await run(['create', 'My\nshow', '--private'], { KINORA_RTMP_PORT: '1999' })
  assert.equal(created.code, 0, created.stderr)
  const [stream] = await streams()
  assert.deepEqual([stream.name, stream.public], ['My\nshow', false])
  assert.deepEqual(created.lines.slice(0, 3), [
    `id          ${stream.liveStreamId}`,
    `server      rtmp://localhost:1999/s`,
    `stream key  ${stream.streamKey}`,
  ])
  assert.match(created.lines[3]!, /^player {6}http:.*\/live\/li\w+\?token=/)
  const listed = await run(['list'])
  assert.match(listed.stdout, new RegExp(`^\\S+ {2}${stream.liveStreamId} {2}idle {2}My show\n$`))
  assert.equal((await run(['key', stream.liveStreamId])).stdout, `${stream.streamKey}\n`)
  const rotated = await run(['key', stream.liveStreamId, '--rotate', '--json'])
  const [{ streamKey }] = await streams()
  assert.deepEqual(JSON.parse(rotated.stdout), { liveStreamId: stream.liveStreamId, streamKey })
  assert.notEqual(streamKey, stream.streamKey)
})

const videoOf = (messages: Received[]) =>
  messages.flatMap((each) => (each.kind === 'video' ? [each.payload] : []))
const audioOf = (messages: Received[]) =>
  messages.flatMap((each) => (each.kind === 'audio' ? [each.payload] : []))
const isAvcKeyFrame = (payload: Buffer) => payload[0] === 0x17 && payload[1] === 1

test('live publish sends H.264 and AAC as they are', async (t) => {
  const { port, publications, ends } = await startRtmpServer(t)
  const clip = join(folder, 'clip.mp4')
  const inputs = ['-f', 'lavfi', '-i', 'testsrc2=s=160x90:r=25:d=1', '-f', 'lavfi', '-i', 'sine=d=1']
  await ffmpeg(...inputs, '-c:v', 'libx264', '-g', '10', '-c:a', 'aac', clip)
  const { liveStreamId, streamKey, assets } = await createLiveStream(service)
  const result = await run(['publish', clip, '--stream', liveStreamId, '--json'], {
    KINORA_RTMP_PORT: String(port),
  })
  assert.equal(result.code, 0, result.stderr)
  const [start, end] = result.lines.map((line) => JSON.parse(line))
  assert.deepEqual(start, { liveStreamId, player: assets.player, server: `rtmp://localhost:${port}/s` })
  assert.ok(end.durationMs > 900 && end.durationMs < 1_100, `${end.durationMs}`)
  await waitFor(() => ends.length === 1)
  assert.deepEqual(ends, ['The encoder ended the stream.'])
  const [{ streamKey: used, messages }] = publications as [(typeof publications)[number]]
  assert.equal(used, streamKey)
  assert.equal(messages[0]?.kind, 'metadata')
  // A message of another kind marks the end of the stream.
  assert.equal(videoOf(messages).filter((payload) => payload[1] === 1).length, 25)
  assert.equal(videoOf(messages).filter(isAvcKeyFrame).length, 3)
  const copied = join(folder, 'copied.flv')
  await ffmpeg('-i', clip, '-c', 'copy', '-flvflags', 'no_duration_filesize', copied)
  const file = await readFile(copied)
  for (const payload of [...videoOf(messages), ...audioOf(messages)]) assert.ok(file.includes(payload))
})

test('live publish encodes other codecs, into a new live stream', async (t) => {
  const { port, publications } = await startRtmpServer(t)
  const clip = join(folder, 'other codecs.mkv')
  const inputs = ['-f', 'lavfi', '-i', 'testsrc2=s=161x91:r=10:d=1', '-f', 'lavfi', '-i', 'sine=d=1']
  await ffmpeg(...inputs, '-c:v', 'mpeg4', '-c:a', 'libopus', clip)
  const result = await run(['publish', clip], { KINORA_RTMP_PORT: String(port) })
  assert.equal(result.code, 0, result.stderr)
  const [stream] = await streams()
  assert.equal(stream.name, 'other codecs.mkv')
  assert.deepEqual(result.lines, [stream.assets.player, 'Sent 1 second.'])
  await waitFor(() => publications.length === 1)
  const { messages, streamKey } = publications[0]!
  assert.equal(streamKey, stream.streamKey)
  assert.ok(videoOf(messages).some(isAvcKeyFrame))
  assert.ok(audioOf(messages).every((payload) => payload[0]! >> 4 === 10))
})

test('without a file, live publish sends a test pattern until Ctrl-C', async (t) => {
  const { port, publications, ends } = await startRtmpServer(t)
  const child = spawn(process.execPath, [kinoraCommand(), 'live', 'publish'], {
    cwd: root,
    env: { ...process.env, ...env(), KINORA_RTMP_PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  let printed = ''
  for (const out of [child.stdout, child.stderr])
    out.on('data', (bytes) => {
      printed += bytes
    })
  const exited = once(child, 'exit')
  await waitFor(
    () => (publications[0]?.messages.length ?? 0) > 20,
    () => printed,
  )
  const [{ name, assets }] = await streams()
  assert.equal(name, 'Test pattern')
  assert.equal(printed, `${assets.player}\n`)
  child.kill('SIGINT')
  assert.deepEqual(await exited, [0, null])
  assert.match(printed, /\nSent \d+ seconds?\.\n$/)
  await waitFor(() => ends.length === 1)
  assert.deepEqual(ends, ['The encoder ended the stream.'])
  assert.ok(videoOf(publications[0]!.messages).some(isAvcKeyFrame))
})

test('live publish ends with a sentence when the service closes the connection', async (t) => {
  const server = await startRtmpServer(t)
  const ended = run(['publish'], { KINORA_RTMP_PORT: String(server.port) })
  await waitFor(() => (server.publications[0]?.messages.length ?? 0) > 5)
  server.publications[0]!.close()
  const { code, stderr } = await ended
  assert.equal(code, 1)
  assert.match(stderr, /^kinora: The (server closed the connection|connection to the server was lost)\.\n$/)
})

test('live end ends a broadcast, and live publish elsewhere says so', async (t) => {
  const live = await kinora(t, { KINORA_ENCODE_SLOTS: '1' })
  const more = { KINORA_URL: live.url, KINORA_RTMP_PORT: String(rtmpPort(live)) }
  const { liveStreamId, assets } = await createLiveStream(live)
  const end = () => run(['end', liveStreamId], more)
  assert.equal((await end()).stdout, 'There is no broadcast to end.\n')
  const published = run(['publish', '--stream', liveStreamId], more)
  const isOnAir = async () => (await call(`${live.url}/live-streams/${liveStreamId}`)).body.broadcasting
  await waitFor(isOnAir)
  assert.equal((await end()).stdout, 'The broadcast is being ended.\n')
  const { code, lines, stderr } = await published
  assert.equal(code, 0, stderr)
  assert.deepEqual(lines.slice(0, 2), [assets.player, 'The broadcast was ended elsewhere.'])
  assert.match(lines[2]!, /^Sent \d+ seconds?\.$/)
})

test('a failed command prints one sentence', async (t) => {
  const refusing = await startRtmpServer(t, { refuse: () => 'The stream key is unknown.' })
  const { liveStreamId } = await createLiveStream(service)
  const text = join(folder, 'text.mp4')
  await writeFile(text, 'This is not a video.\n'.repeat(100))
  const to = (port: number) => ({ KINORA_RTMP_PORT: String(port) })
  const sandbox = { KINORA_URL: `${service.url}/sandbox`, KINORA_KEY: sandboxKey }
  const stream = ['--stream', liveStreamId]
  const cases: [string[], Record<string, string>, RegExp][] = [
    [['key', liveStreamId, '--rotate'], sandbox, /responded with 404: .*\(liveStreamId\)/],
    [['publish', ...stream], sandbox, /responded with 404: .*\(liveStreamId\)/],
    [['publish', ...stream], to(refusing.port), /refused the stream: The stream key is unknown\./],
    // Nothing listens on this port, and no server that picks a free port gets it.
    [['publish', ...stream], to(2), /No connection to localhost could be made\. Check KINORA_RTMP_PORT\./],
    [['publish', ...stream], { KINORA_RTMP_PORT: 'x' }, /KINORA_RTMP_PORT must be a whole number/],
    [['publish', join(folder, 'none.mp4'), ...stream], {}, /No such file: \S+none\.mp4$/m],
    [['end', 'li00000000000000000000000'], {}, /responded with 404: .*\(liveStreamId\)/],
    [['publish', text, ...stream], {}, /text\.mp4 cannot be sent: The file is not a video/],
  ]
  const results = await Promise.all(cases.map(([args, more]) => run(args, more)))
  for (const [i, { code, stderr }] of results.entries()) {
    assert.equal(code, 1, stderr)
    assert.match(stderr, /^kinora: [^\n]+\n$/)
    assert.match(stderr, cases[i]![2])
  }
  const accepting = await startRtmpServer(t)
  const noFfmpeg = await run(['publish', ...stream], { ...to(accepting.port), KINORA_FFMPEG: '/none' })
  assert.equal(noFfmpeg.code, 1)
  assert.match(noFfmpeg.stderr, /^kinora: ffmpeg cannot be used: .* Install it, or set KINORA_FFMPEG\.\n$/)
  await waitFor(() => accepting.sockets.size === 0)
})
