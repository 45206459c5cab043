import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { AudioReader, VideoReader } from '../media/flv.ts'
import { FlvStream, type FlvTag, flvHeader, flvTagType, writeFlvTag } from '../media/flv-stream.ts'
import { codecsOf, type Tracks, writeInit } from '../media/fmp4.ts'
import { Timeline } from '../media/timeline.ts'
import { type Packaged, Packager, type Part, type Segment } from './packager.ts'

let folder: string
let flv: string

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'kinora-live-'))
  flv = join(folder, 'a.flv')
  const inputs = '-f lavfi -i testsrc2=s=160x120:r=25:d=6.4 -f lavfi -i sine=d=6.4:r=44100'
  const codecs = '-c:v libx264 -preset ultrafast -g 50 -bf 2 -c:a aac'
  execFileSync('ffmpeg', `-v error -y ${inputs} ${codecs} ${flv}`.split(' '))
})
after(() => rmSync(folder, { recursive: true, force: true }))

/** Reads a file in pieces of an odd size, as they arrive from a pipe. */
function readTags(bytes: Buffer): FlvTag[] {
  const stream = new FlvStream()
  const tags: FlvTag[] = []
  for (let at = 0; at < bytes.length; at += 1_357) tags.push(...stream.read(bytes.subarray(at, at + 1_357)))
  return tags
}

type Result = { init: Buffer; tracks: Tracks; parts: Part[]; segments: Segment[] }

/** Makes parts and segments of the tags whose type is in `types`. */
function packageTags(tags: FlvTag[], types: number[]): Result {
  const [videoReader, audioReader] = [new VideoReader(), new AudioReader()]
  const tracks: Tracks = {}
  const [parts, segments]: [Part[], Segment[]] = [[], []]
  const timeline = new Timeline(0)
  const given = tags.filter(({ type }) => types.includes(type))
  const events = given.flatMap(({ type, timestamp, payload }) => {
    const isVideo = type === flvTagType.video
    const read = isVideo ? [videoReader.read(timestamp, payload)] : audioReader.read(timestamp, payload)
    return read.map((event) => ({ isVideo, timestamp, event }))
  })
  for (const { isVideo, event } of events)
    if (event && 'config' in event) Object.assign(tracks, { [isVideo ? 'video' : 'audio']: event.config })
  const packager = new Packager({
    tracks,
    partMs: 500,
    startsSegment: (atMs, segmentStartMs) => atMs - segmentStartMs >= 2_000,
  })
  const collect = (packaged: readonly Packaged[]) => {
    for (const each of packaged)
      if (each.kind === 'part') parts.push(each.part)
      else if (each.kind === 'segment') segments.push(each.segment)
  }
  for (const { isVideo, timestamp, event } of events) {
    if (!event || !('sample' in event)) continue
    if (isVideo) collect(packager.video(event.sample, timeline.map(timestamp, 40)))
    else collect(packager.audio(event.sample, timeline.map(timestamp, 23)))
  }
  collect(packager.end())
  return { init: writeInit(tracks), tracks, parts, segments }
}

/** Returns a hash of each decoded frame and packet, with its time. */
function hashesOf(path: string, stream: 'v' | 'a'): string[] {
  const codec = stream === 'a' ? ['-c', 'copy'] : ['-fps_mode', 'passthrough']
  const args = ['-v', 'warning', '-i', path, '-map', `0:${stream}`, ...codec, '-f', 'framemd5', '-']
  const output = execFileSync('ffmpeg', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  return output.split('\n').flatMap((line) => /^0,.* (\w{32})$/.exec(line)?.[1] ?? [])
}

test('parts contain every frame of the stream, and segments begin with key frames', () => {
  const tags = readTags(readFileSync(flv))
  const { init, tracks, parts, segments } = packageTags(tags, [flvTagType.audio, flvTagType.video])
  assert.match(codecsOf(tracks), /^avc1\.[0-9a-f]{6},mp4a\.40\.2$/)
  assert.deepEqual([tracks.video?.width, tracks.video?.height, tracks.audio?.sampleRate], [160, 120, 44_100])
  const path = join(folder, 'joined.mp4')
  writeFileSync(path, Buffer.concat([init, ...parts.map(({ data }) => data.join())]))
  for (const stream of ['v', 'a'] as const) assert.deepEqual(hashesOf(path, stream), hashesOf(flv, stream))

  assert.deepEqual(
    segments.map(({ startMs, durationMs }) => [startMs, durationMs]),
    [
      [0, 2_000],
      [2_000, 2_000],
      [4_000, 2_000],
      [6_000, 400],
    ],
  )
  for (const segment of segments) {
    assert.deepEqual(
      segment.parts.map(({ isIndependent }) => isIndependent),
      segment.parts.map((_, i) => i === 0),
    )
    assert.ok(segment.parts.every(({ durationMs }) => durationMs > 0 && durationMs <= 500))
  }
  assert.deepEqual(
    segments.flatMap(({ parts: each }) => each),
    parts,
  )
})

test('a stream without video has independent parts, and one without audio has all frames', () => {
  const tags = readTags(readFileSync(flv))
  for (const [stream, type] of [
    ['a', flvTagType.audio],
    ['v', flvTagType.video],
  ] as const) {
    const { init, parts, segments } = packageTags(tags, [type])
    const path = join(folder, `${stream}.mp4`)
    writeFileSync(path, Buffer.concat([init, ...parts.map(({ data }) => data.join())]))
    assert.deepEqual(hashesOf(path, stream), hashesOf(flv, stream))
    assert.equal(segments.length, 4)
    if (stream === 'a') assert.ok(parts.every(({ isIndependent }) => isIndependent))
  }
})

test('tags are written as they are read', () => {
  const tags = readTags(readFileSync(flv))
  assert.deepEqual(readTags(Buffer.concat([flvHeader, ...tags.map(writeFlvTag)])), tags)
})

test('a part of tiny frames does not keep the blocks in memory that they are pieces of', () => {
  const parts: Part[] = []
  const audio = { kind: 'aac' as const, record: Buffer.alloc(2), sampleRate: 48_000, channels: 2 }
  const packager = new Packager({
    tracks: { audio: { ...audio, frameLength: 1024 } },
    partMs: 500,
    startsSegment: () => false,
  })
  for (let i = 0; i < 100; i++) {
    const data = Buffer.alloc(64 * 1024).subarray(0, 10)
    const sample = { decodeTime: i * 20, compositionOffset: 0, isKeyFrame: true, data }
    for (const each of packager.audio(sample, i * 20)) if (each.kind === 'part') parts.push(each.part)
  }
  assert.ok(parts.length > 0)
  for (const { data } of parts) assert.ok(data.heldBytes < 512 * 1024, `${data.heldBytes} bytes`)
})
