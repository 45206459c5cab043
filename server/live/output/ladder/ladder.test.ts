import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { pino } from 'pino'
import { type SourceEvent, SourceReader } from '../../ingest/source-reader.ts'
import type { Sample } from '../../media/flv.ts'
import { FlvStream, flvTagType } from '../../media/flv-stream.ts'
import { type Tracks, writeInit } from '../../media/fmp4.ts'
import { Packager } from '../packager.ts'
import { LadderBudget } from './budget.ts'
import { Ladder } from './ladder.ts'

type Event = { isVideo: boolean; sample: Sample; atMs: number }
type Source = { tracks: Tracks; events: Event[] }
type Output = { tracks: Tracks[]; events: Event[] }

/** Lets the processes work. */
const turn = () => delay(2)

let folder: string
let source: Source

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'kinora-ladder-'))
  source = record('testsrc2=s=488x366:r=25:d=4', '-g 25 -bf 2', '-f lavfi -i sine=d=4:r=44100 -c:a aac')
})
after(() => rmSync(folder, { recursive: true, force: true }))

/** What an encoder sends. */
function record(video: string, codec: string, audio = '', startMs = 7_000): Source {
  const file = join(folder, 'source.flv')
  const args = `-v error -y -f lavfi -i ${video} ${audio} -c:v libx264 -preset ultrafast -pix_fmt yuv420p ${codec} ${file}`
  execFileSync('ffmpeg', args.split(' ').filter(Boolean))
  const recorded: Source = { tracks: {}, events: [] }
  const reader = new SourceReader(startMs)
  const collect = (events: SourceEvent[]) => {
    for (const event of events)
      if (event.kind === 'tracks') Object.assign(recorded.tracks, event.tracks)
      else recorded.events.push({ isVideo: event.kind === 'video', sample: event.sample, atMs: event.atMs })
  }
  reader.metadata(audio ? { videocodecid: 7, audiocodecid: 10 } : { videocodecid: 7 })
  for (const { type, timestamp, payload } of new FlvStream().read(readFileSync(file))) {
    if (type === flvTagType.video) collect(reader.video(timestamp, payload))
    if (type === flvTagType.audio) collect(reader.audio(timestamp, payload))
  }
  return recorded
}

const videoOf = ({ events }: { events: Event[] }) => events.filter(({ isVideo }) => isVideo)
const timesOf = (events: Event[]) => events.map(({ atMs }) => atMs)
const shownTimesOf = (events: Event[]) =>
  events.map(({ atMs, sample }) => atMs + sample.compositionOffset).sort((a, b) => a - b)
const keyFramesOf = (events: Event[]) => timesOf(events.filter(({ sample }) => sample.isKeyFrame))
const endOf = ({ events }: Source) => Math.max(...timesOf(events)) + 40

/** The same media again, later. */
const shifted = ({ tracks, events }: Source, byMs: number): Source => ({
  tracks,
  events: events.map((event) => ({ ...event, atMs: event.atMs + byMs })),
})

function script(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, `#!/bin/sh\n${text}\n`)
  chmodSync(path, 0o755)
  return path
}

function createLadder(ffmpeg = 'ffmpeg', budget = new LadderBudget(100)) {
  const outputs = new Map<string, Output>()
  const failures: object[] = []
  const changes: { qualities: string[]; reason: string | undefined }[] = []
  const outputOf = (quality: string) => {
    const output = outputs.get(quality) ?? { tracks: [], events: [] }
    outputs.set(quality, output)
    return output
  }
  const log = pino({ level: 'warn' }, { write: (line) => failures.push(JSON.parse(line)) })
  const ladder = new Ladder({
    tools: { ffmpeg },
    log,
    budget,
    onEvent(event) {
      const output = outputOf(event.quality)
      if ('tracks' in event) output.tracks.push(event.tracks)
      else if ('video' in event) output.events.push({ isVideo: true, sample: event.video, atMs: event.atMs })
      else output.events.push({ isVideo: false, sample: event.audio, atMs: event.atMs })
    },
    onChange: (qualities, reason) => changes.push({ qualities, reason }),
  })
  return { ladder, outputs, changes, failures, outputOf }
}

type Running = ReturnType<typeof createLadder>

/** Feeds a ladder as fast as it encodes. Encoders do not send faster than real time for long. */
async function feed(running: Running, { events }: Source): Promise<void> {
  const { ladder, changes, outputOf } = running
  const startMs = events[0]!.atMs
  const lastOf = (quality: string) => videoOf(outputOf(quality)).at(-1)?.atMs ?? 0
  const received = () => Math.max(startMs, Math.min(...changes.at(-1)!.qualities.map(lastOf)))
  for (const { isVideo, sample, atMs } of events) {
    while (isVideo && sample.isKeyFrame && received() < atMs - 1_200) await turn()
    if (isVideo) ladder.video(sample, atMs)
    else ladder.audio(sample, atMs)
  }
}

/** The events between two times. */
const part = <T extends { events: Event[] }>(of: T, fromMs: number, toMs = Number.POSITIVE_INFINITY): T => ({
  ...of,
  events: of.events.filter(({ atMs }) => atMs >= fromMs && atMs < toMs),
})

/**
 * Feeds the same second of media again and again, without waiting for anything, until the condition holds. Returns the
 * number of seconds.
 */
async function feedUntil(
  { ladder }: Running,
  second: Source,
  isDone: () => boolean,
  from = 0,
): Promise<number> {
  for (let seconds = from; seconds < 1_000; seconds++) {
    if (isDone()) return seconds
    for (const { isVideo, sample, atMs } of shifted(second, 1_000 * seconds).events)
      if (isVideo) ladder.video(sample, atMs)
    await turn()
  }
  throw new Error('The condition does not hold after 1,000 s of media.')
}

/** Makes a file as viewers get it, and decodes it. Returns the number of decoded frames. */
function decode({ tracks, events }: Output): number {
  const parts: Buffer[] = [writeInit(tracks[0]!)]
  const packager = new Packager({
    tracks: tracks[0]!,
    partMs: 500,
    startsSegment: (atMs, segmentStartMs) => atMs - segmentStartMs >= 2_000,
  })
  const packaged = events.flatMap(({ isVideo, sample, atMs }) =>
    isVideo ? packager.video(sample, atMs) : packager.audio(sample, atMs),
  )
  for (const each of [...packaged, ...packager.end()])
    if (each.kind === 'part') parts.push(each.part.data.join())
  const file = join(folder, 'decoded.mp4')
  writeFileSync(file, Buffer.concat(parts))
  execFileSync('ffmpeg', ['-v', 'error', '-xerror', '-i', file, '-f', 'null', '-'])
  const count = '-v error -select_streams v -count_frames -show_entries stream=nb_read_frames -of csv=p=0'
  return Number(execFileSync('ffprobe', [...count.split(' '), file], { encoding: 'utf8' }))
}

/** Audio must not run ahead of the video, or it would end up in an earlier segment. */
function assertInterleaved({ events }: Output): void {
  const lastFrame = events.findLastIndex(({ isVideo }) => isVideo)
  for (const [i, { isVideo, atMs }] of events.slice(0, lastFrame).entries()) {
    const next = events.slice(i).find((event) => event.isVideo)
    assert.ok(isVideo || atMs < next!.atMs, `audio at ${atMs} before the frame at ${next?.atMs}`)
  }
}

test('every frame is encoded, with the key frames of the source, also when the resolution changes', async ({
  signal,
}) => {
  const running = createLadder()
  const { ladder, outputs, changes } = running
  const portrait = record('testsrc2=s=366x488:r=25:d=1', '-g 25', '', endOf(source))
  ladder.configure(source.tracks, { encodeTop: false })
  await feed(running, source)
  ladder.configure(portrait.tracks, { encodeTop: false })
  await feed(running, portrait)
  await ladder.close(signal)
  const change = { qualities: ['240p', '360p'], reason: undefined }
  assert.deepEqual(changes, [change, change])
  assert.deepEqual([...outputs.keys()].sort(), ['240p', '360p'])
  const given = [source, portrait].flatMap(videoOf)
  for (const [quality, output] of outputs) {
    const height = Number.parseInt(quality, 10)
    const sizes = output.tracks.map(({ video }) => [video?.width, video?.height])
    assert.deepEqual(sizes[0], [(height * 4) / 3, height])
    assert.deepEqual(sizes.slice(1), [[height, height === 240 ? 320 : 480]])
    assert.equal(output.tracks[0]?.audio, source.tracks.audio)
    assert.deepEqual(timesOf(videoOf(output)), timesOf(given))
    assert.deepEqual(shownTimesOf(videoOf(output)), shownTimesOf(given))
    assert.deepEqual(keyFramesOf(videoOf(output)), [7_000, 8_000, 9_000, 10_000, endOf(source)])
    const audio = output.events.filter(({ isVideo }) => !isVideo)
    const givenAudio = source.events.filter(({ isVideo }) => !isVideo)
    assert.deepEqual(
      audio.map(({ sample }) => sample.data),
      givenAudio.map(({ sample }) => sample.data),
    )
    assertInterleaved(output)
    assert.equal(decode(part(output, 0, endOf(source))), 100)
  }
})

test('a killed ffmpeg starts again at the next key frame', async ({ signal }) => {
  const pids = join(folder, 'pids')
  const running = createLadder(script('ffmpeg-with-pid', `echo $$ >> ${pids}; exec ffmpeg "$@"`))
  const { ladder, changes, failures, outputOf } = running
  ladder.configure(source.tracks, { encodeTop: false })
  await feed(running, part(source, 0, 8_400))
  while (videoOf(outputOf('240p')).length === 0) await turn()
  const [pid] = readFileSync(pids, 'utf8').split('\n')
  process.kill(Number(pid), 'SIGKILL')
  while (failures.length === 0) await turn()
  const { length } = outputOf('240p').events
  await feed(running, part(source, 8_400))
  await ladder.close(signal)
  assert.deepEqual(changes.at(-1), { qualities: ['240p', '360p'], reason: undefined })
  const { tracks, events } = outputOf('240p')
  const again = events.slice(length)
  assert.equal(tracks.length, 2)
  assert.deepEqual(timesOf(videoOf({ events: again })), timesOf(videoOf(part(source, 9_000))))
  assert.equal(decode({ tracks, events: again }), 50)
})

test('an ffmpeg that always fails is given up, with a reason', async ({ signal }) => {
  const running = createLadder(script('ffmpeg-that-fails', 'echo broken >&2; exit 1'))
  const { ladder, changes, failures } = running
  ladder.configure(source.tracks, { encodeTop: false })
  for (const failure of [1, 2, 3]) {
    await feed(running, part(source, 6_000 + 1_000 * failure, 7_000 + 1_000 * failure))
    while (failures.length < failure) await turn()
  }
  await feed(running, part(source, 10_000))
  assert.deepEqual(changes.at(-1), {
    qualities: [],
    reason: 'ffmpeg failed repeatedly. Only the quality of the source is available.',
  })
  assert.equal(failures.length, 3)
  await ladder.close(signal)
})

test('a ladder that is too slow loses its most expensive quality', async ({ signal }) => {
  const slow = 'case "$*" in *pipe:4*) exec sleep 1000;; esac; exec ffmpeg "$@"'
  const running = createLadder(script('ffmpeg-slow-with-two', slow))
  const { ladder, changes, outputOf } = running
  ladder.configure(source.tracks, { encodeTop: false })
  const second = part(source, 7_000, 8_000)
  const seconds = await feedUntil(running, second, () => changes.length > 1)
  const reason = 'The CPU is busy, so viewers do not get 360p.'
  assert.deepEqual(changes.at(-1), { qualities: ['240p'], reason })
  const rest = shifted(part(source, 8_000), 1_000 * (seconds - 1))
  await feed(running, rest)
  await ladder.close(signal)
  assert.deepEqual(timesOf(videoOf(outputOf('240p'))).at(-1), timesOf(videoOf(rest)).at(-1))
  assert.equal(changes.length, 2)
})

test('the qualities that stay have no gap when the machine becomes too slow', async ({ signal }) => {
  const pids = join(folder, 'pids-of-slow')
  const running = createLadder(script('ffmpeg-to-stop', `echo $$ >> ${pids}; exec ffmpeg "$@"`))
  const { ladder, changes, outputOf } = running
  const second = part(source, 7_000, 8_000)
  ladder.configure(source.tracks, { encodeTop: false })
  await feed(running, second)
  for (const quality of ['240p', '360p']) while (videoOf(outputOf(quality)).length === 0) await turn()
  const pid = Number(readFileSync(pids, 'utf8').split('\n')[0])
  process.kill(pid, 'SIGSTOP')
  const seconds = await feedUntil(running, second, () => changes.length > 1, 1)
  assert.deepEqual(changes.at(-1)?.qualities, ['240p'])
  process.kill(pid, 'SIGCONT')
  await feed(running, shifted(second, 1_000 * seconds))
  await ladder.close(signal)
  const { tracks, events } = outputOf('240p')
  const all = Array.from({ length: seconds + 1 }, (_, i) => videoOf(shifted(second, 1_000 * i)))
  assert.deepEqual(timesOf(videoOf({ events })), timesOf(all.flat()))
  assert.equal(tracks.length, 1)
})

test('a ladder has the qualities that other broadcasts leave capacity for', async () => {
  const budget = new LadderBudget(0.26)
  const [first, second] = [createLadder('ffmpeg', budget), createLadder('ffmpeg', budget)]
  for (const { ladder } of [first, second]) ladder.configure(source.tracks, { encodeTop: false })
  assert.deepEqual(first.changes, [{ qualities: ['240p', '360p'], reason: undefined }])
  const reason = 'The CPU is busy, so viewers do not get 360p.'
  assert.deepEqual(second.changes, [{ qualities: ['240p'], reason }])
  first.ladder.finish()
  second.ladder.configure(source.tracks, { encodeTop: false })
  assert.deepEqual(second.changes.at(-1)?.qualities, ['240p', '360p'])
})

test('an ffmpeg that does not read takes a bounded amount of memory, and is given up', async ({ signal }) => {
  const running = createLadder(script('ffmpeg-that-hangs', 'exec sleep 1000'))
  const { ladder, changes } = running
  const data = Buffer.alloc(1_000_000)
  const frame = (isKeyFrame: boolean): Sample => ({
    decodeTime: 0,
    compositionOffset: 0,
    isKeyFrame,
    data,
  })
  const events = [true, ...Array.from({ length: 24 }, () => false)].map((isKeyFrame, i) => {
    return { isVideo: true, sample: frame(isKeyFrame), atMs: 40 * i }
  })
  ladder.configure(source.tracks, { encodeTop: false })
  setFlagsFromString('--expose_gc')
  const collectGarbage: () => void = runInNewContext('gc')
  const bytesBefore = process.memoryUsage().arrayBuffers
  let maxBytes = 0
  const seconds = await feedUntil(running, { tracks: {}, events }, () => {
    collectGarbage()
    maxBytes = Math.max(maxBytes, process.memoryUsage().arrayBuffers - bytesBefore)
    return changes.at(-1)!.qualities.length === 0
  })
  assert.ok(seconds >= 2, 'less than 50 MB were sent')
  assert.ok(maxBytes < 24 * 1024 * 1024, `${maxBytes} bytes`)
  assert.deepEqual(changes.at(-1), {
    qualities: [],
    reason: 'The CPU is busy, so viewers get the source quality only.',
  })
  await ladder.close(signal)
})

test('a source with few key frames is encoded in its own size too, with a key frame every 2 s', async ({
  signal,
}) => {
  const running = createLadder()
  const { ladder, outputs } = running
  const long = record('testsrc2=s=322x250:r=25:d=5', '-g 1000 -bf 2')
  ladder.configure(long.tracks, { encodeTop: true })
  await feed(running, long)
  await ladder.close(signal)
  assert.deepEqual([...outputs.keys()].sort(), ['240p', 'top'])
  for (const output of outputs.values()) {
    assert.deepEqual(timesOf(videoOf(output)), timesOf(videoOf(long)))
    assert.deepEqual(keyFramesOf(videoOf(output)), [7_000, 9_000, 11_000])
  }
  const top = outputs.get('top')!.tracks[0]!.video
  assert.deepEqual([top?.width, top?.height], [322, 250])
})

test('at most 60 frames per second are encoded, and 1 frame per second is no lag', async ({ signal }) => {
  for (const { rate, seconds, frames } of [
    { rate: 120, seconds: 1, frames: 60 },
    { rate: 1, seconds: 22, frames: 22 },
  ]) {
    const running = createLadder()
    const given = record(`testsrc2=s=322x250:r=${rate}:d=${seconds}`, `-g ${rate / 2 > 1 ? rate / 2 : 2}`)
    running.ladder.configure(given.tracks, { encodeTop: false })
    for (const { sample, atMs } of given.events) running.ladder.video(sample, atMs)
    await running.ladder.close(signal)
    const video = videoOf(running.outputOf('240p'))
    assert.deepEqual(keyFramesOf(video), keyFramesOf(given.events))
    assert.ok(Math.abs(video.length - frames) <= 2, `${video.length} frames at ${rate} per second`)
    assert.equal(running.changes.length, 1)
  }
})
