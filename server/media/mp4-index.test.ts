import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { run } from '../lib/run.ts'
import { readCopiedAudio } from './copied-audio.ts'
import { placeFrames, readCopiedVideo } from './copied-video.ts'
import { readMp4Index } from './mp4-index.ts'
import { box, fullBox, u32 } from './write-boxes.ts'

let folder: string
let file: Buffer

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mp4-index-'))
  const path = join(folder, 'a.mp4')
  await run('ffmpeg', [
    ...[
      '-v',
      'error',
      '-f',
      'lavfi',
      '-i',
      'testsrc2=s=64x64:r=25:d=2',
      '-f',
      'lavfi',
      '-i',
      'anullsrc=r=48000:d=2',
    ],
    ...['-t', '2', '-c:v', 'libx264', '-preset', 'ultrafast', '-g', '20', '-bf', '2', '-pix_fmt', 'yuv420p'],
    ...['-c:a', 'aac', '-movflags', '+faststart', path],
  ])
  file = await readFile(path)
})

after(() => rm(folder, { recursive: true, force: true }))

const readIndex = (bytes: Buffer) =>
  readMp4Index(async (from, size) => {
    assert.ok(from >= 0 && size >= 0 && from + size <= bytes.length, `a read of ${size} bytes at ${from}`)
    return bytes.subarray(from, from + size)
  }, bytes.length)

/** Reads all that is read of a source before it is copied. */
async function readAll(bytes: Buffer): Promise<boolean> {
  const [video, audio] = (await readIndex(bytes)) ?? []
  const copied = video && readCopiedVideo(video) && (await placeFrames(video, { num: 25, den: 1 }))
  const copiedAudio = audio && (await readCopiedAudio(audio))
  return copied !== undefined && copiedAudio !== undefined
}

test('the index has the samples of each track with their places and times', async () => {
  const [video, audio] = (await readIndex(file))!
  assert.deepEqual(
    [video?.handler, audio?.handler, video?.entry.type, audio?.entry.type],
    ['vide', 'soun', 'avc1', 'mp4a'],
  )
  const { samples, timescale } = video!
  assert.equal(samples.count, 50)
  assert.deepEqual(
    [...samples.isSync.keys()].filter((i) => samples.isSync[i] === 1),
    [0, 20, 40],
  )
  const times = [...samples.times].map((time) => Math.round((time / timescale) * 25))
  assert.notDeepEqual(
    times,
    times.toSorted((a, b) => a - b),
  )
  assert.deepEqual(
    times.toSorted((a, b) => a - b),
    [...times.keys()],
  )
  const ends = [...samples.offsets].map((offset, i) => offset + samples.sizes[i]!)
  assert.ok(ends.every((end) => end <= file.length))
  // The audio starts with a frame that is not played.
  assert.equal(audio!.samples.times[0], -1024)
  assert.equal((await readCopiedAudio(audio!))?.sampleRate, 48_000)
  assert.ok(await readAll(file))
})

test('a damaged index is read without an error, and nothing outside of the file is read', async () => {
  const moovFrom = file.indexOf('moov') - 4
  const moovTo = moovFrom + file.readUInt32BE(moovFrom)
  // The same numbers in each run.
  let seed = 1
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % below
  }
  for (let round = 0; round < 3_000; round++) {
    const bytes = Buffer.from(file)
    for (let change = 0; change <= round % 3; change++) {
      const at = moovFrom + random(moovTo - moovFrom - 4)
      if (round % 2 === 0) bytes[at] = random(256)
      else bytes.writeUInt32BE([0, 1, 0x7fffffff, 0xffffffff, 0x80000000][random(5)]!, at)
    }
    await readAll(bytes)
  }
  for (let length = 0; length < moovTo + 100; length += 7)
    assert.equal(await readAll(file.subarray(0, length)), false)
})

const moovWith = (...boxes: Buffer[]) => box('moov', fullBox('mvhd', 0, 0, u32(0, 0, 1000, 0)), ...boxes)

test('an index that claims more than its size is not read', async () => {
  const huge = Buffer.alloc(16)
  huge.writeUInt32BE(1, 0)
  huge.write('moov', 4, 'latin1')
  huge.writeBigUInt64BE(2n ** 62n, 8)
  assert.equal(await readIndex(huge), undefined)
  assert.equal(await readMp4Index(async () => huge.subarray(0, 16), 2 ** 62 + 1024), undefined)
  assert.deepEqual(await readIndex(moovWith()), [])
  assert.equal(await readIndex(moovWith(box('mvex'))), undefined)
  assert.deepEqual(await readIndex(moovWith(box('trak'))), [undefined])
  // Nested boxes, and more boxes than any file has.
  let nested: Buffer = Buffer.alloc(0)
  for (let depth = 0; depth < 2_000; depth++) nested = box('trak', nested)
  assert.deepEqual(await readIndex(moovWith(nested)), [undefined])
  const many = Array.from({ length: 2_000 }, () => box('trak'))
  assert.equal(await readIndex(moovWith(...many)), undefined)
  assert.deepEqual(await readIndex(moovWith(box('trak', ...many))), [undefined])
  assert.equal(await readIndex(Buffer.concat(Array.from({ length: 3_000 }, () => box('free')))), undefined)
})

test('errors of the store are not damage', async () => {
  const read = async (from: number, size: number) => {
    if (size > 16) throw new Error('the store is unavailable')
    return file.subarray(from, from + size)
  }
  await assert.rejects(readMp4Index(read, file.length), /the store is unavailable/)
})
