import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { run } from '../lib/run.ts'
import { audioFragment, audioInit } from './audio-boxes.ts'
import { codecOf, FragmentReader, splitFragments } from './boxes.ts'

let folder: string
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'boxes-'))
})
after(() => rm(folder, { recursive: true }))

const at = (name: string) => join(folder, name)

/** Two seconds at 25 frames a second, a key frame every 10. */
async function encode(name: string, ...options: string[]): Promise<string> {
  const source = ['-f', 'lavfi', '-i', 'testsrc=s=64x64:r=25:d=2', '-pix_fmt', 'yuv420p']
  const x264 = ['-c:v', 'libx264', '-profile:v', 'high', '-threads', '1', '-g', '10', '-sc_threshold', '0']
  await run('ffmpeg', ['-v', 'error', '-y', ...source, ...x264, ...options, '-f', 'mp4', at(name)])
  return at(name)
}

const fragmented = (name: string, flags = 'cmaf+frag_keyframe+frag_discont', ...options: string[]) =>
  encode(name, '-video_track_timescale', '12800', '-movflags', flags, ...options)

async function splitBytes(bytes: Uint8Array) {
  await writeFile(at('bytes.mp4'), bytes)
  return splitFragments(at('bytes.mp4'))
}

const box = (type: string, ...parts: Buffer[]) => {
  const body = Buffer.concat(parts)
  const head = Buffer.alloc(8)
  head.writeUInt32BE(8 + body.length)
  head.write(type, 4, 'latin1')
  return Buffer.concat([head, body])
}

test('a chunk is split into an init segment and one fragment per key frame', async () => {
  const path = await fragmented('chunk.mp4', undefined, '-output_ts_offset', '4')
  const bytes = await readFile(path)
  const { init, fragments } = await splitFragments(path)
  assert.equal(init.from, 0)
  assert.equal(bytes.toString('latin1', 4, 8), 'ftyp')
  assert.equal(codecOf(bytes.subarray(0, init.to)), 'avc1.64000a')
  assert.deepEqual(
    fragments.map(({ samples, decodeTime, hasKeyFrameFirst }) => ({ samples, decodeTime, hasKeyFrameFirst })),
    [0, 1, 2, 3, 4].map((n) => ({ samples: 10, decodeTime: (100 + n * 10) * 512, hasKeyFrameFirst: true })),
  )
  let end = init.to
  for (const { from, size } of fragments) {
    assert.equal(from, end)
    end = from + size
  }
  assert.ok(end <= bytes.length)
  // Only the index that players do not need may remain.
  if (end < bytes.length) assert.equal(bytes.toString('latin1', end + 4, end + 8), 'mfra')
})

test('fragments that are cut between key frames do not start with a key frame', async () => {
  const path = await fragmented('cut.mp4', 'cmaf+empty_moov+default_base_moof', '-frag_duration', '200000')
  const { fragments } = await splitFragments(path)
  assert.equal(
    fragments.reduce((sum, { samples }) => sum + samples, 0),
    50,
  )
  const found = fragments.map(({ hasKeyFrameFirst }) => hasKeyFrameFirst)
  assert.equal(found[0], true)
  assert.ok(found.includes(false))
})

test('boxes in front of a moof belong to its fragment, and 64-bit sizes are read', async () => {
  const init = audioInit(Buffer.from([0x11, 0x90]))
  const first = audioFragment({ sequence: 1, fromFrame: 0, frames: [Buffer.from('one')] })
  const styp = box('styp', Buffer.from('msdh\0\0\0\0'))
  const moof = audioFragment({ sequence: 2, fromFrame: 2 ** 23, frames: [Buffer.from('two')] }).subarray(
    0,
    -11,
  )
  const wide = Buffer.concat([
    Buffer.from([0, 0, 0, 1]),
    Buffer.from('mdat'),
    Buffer.alloc(7),
    Buffer.from([19]),
  ])
  const second = Buffer.concat([styp, box('sidx'), moof, wide, Buffer.from('two')])
  const { fragments } = await splitBytes(Buffer.concat([init, first, second, box('mfra')]))
  const common = { samples: 1, hasKeyFrameFirst: true }
  assert.deepEqual(fragments, [
    { ...common, from: init.length, size: first.length, decodeTime: 0 },
    { ...common, from: init.length + first.length, size: second.length, decodeTime: 2 ** 33 },
  ])
})

test('malformed files are rejected with a reason', async () => {
  const init = audioInit(Buffer.from([0x11, 0x90]))
  const fragment = audioFragment({ sequence: 1, fromFrame: 0, frames: [Buffer.from('one')] })
  const refused = (bytes: Buffer, reason: RegExp) => assert.rejects(splitBytes(bytes), reason)
  await refused(Buffer.alloc(0), /no moov/)
  await refused(Buffer.alloc(7), /no moov/)
  await refused(Buffer.from('\0\0\0\x07ftyp'), /says 7 bytes/)
  await refused(fragment, /moof in front of moov/)
  await refused(Buffer.concat([init, box('mdat')]), /mdat without moof/)
  await refused(Buffer.concat([init, fragment.subarray(0, -11)]), /bytes after the last fragment/)
  await refused(Buffer.concat([init, fragment.subarray(0, -1)]), /bytes after the last fragment/)
  await refused(Buffer.concat([init, fragment, Buffer.from('\0\0\0')]), /3 bytes after the last fragment/)
  await refused(Buffer.concat([init, box('moof'), box('mdat')]), /0 tracks/)
  await refused(Buffer.concat([init, box('moof', box('traf')), box('mdat')]), /without decode time/)
  assert.throws(() => codecOf(Buffer.from('not an MP4 at all')), /says/)
  assert.throws(() => codecOf(box('moov')), /no trak/)
})

test('a file is read while it is written', async () => {
  const init = audioInit(Buffer.from([0x11, 0x90]))
  const fragment = (text: string) => audioFragment({ sequence: 1, fromFrame: 0, frames: [Buffer.from(text)] })
  const whole = Buffer.concat([init, fragment('one'), fragment('two or three')])
  const reader = new FragmentReader(at('growing.mp4'))
  assert.deepEqual(await reader.readNew(), [])
  const found: number[] = []
  for (let length = 0; length <= whole.length; length++) {
    await writeFile(at('growing.mp4'), whole.subarray(0, length))
    for (const { from, size } of await reader.readNew()) {
      assert.equal(from + size, length, 'found as soon as it is complete')
      found.push(size)
    }
  }
  assert.deepEqual(found, [fragment('one').length, fragment('two or three').length])
  assert.deepEqual(reader.init, { from: 0, to: init.length })
  assert.deepEqual(await reader.readAll(), [])
  // ffmpeg writes 0 for the size of a box, and replaces it when the box is complete.
  await writeFile(at('growing.mp4'), Buffer.concat([whole, Buffer.from('\0\0\0\0moof1234')]))
  assert.deepEqual(await reader.readNew(), [])
})

test('damaged bytes give a result or an Error, never anything else', async () => {
  const path = await fragmented('damaged.mp4')
  const whole = await readFile(path)
  const { init, fragments } = await splitFragments(path)
  const heads = [init.to, ...fragments.map(({ from }) => from + 200)]
  const damage = fc.array(fc.tuple(fc.nat(400), fc.constantFrom(...heads), fc.nat(255)), {
    minLength: 1,
    maxLength: 4,
  })
  const shows = async (damages: [number, number, number][]) => {
    const bytes = Buffer.from(whole)
    for (const [back, head, value] of damages) bytes[Math.max(0, head - back)] = value
    const { fragments } = await splitBytes(bytes).catch((error) => {
      assert.match(error.message, /^MP4: /)
      return { fragments: [] }
    })
    for (const { from, size } of fragments) assert.ok(from + size <= bytes.length)
    try {
      codecOf(bytes.subarray(0, init.to))
    } catch (error) {
      assert.match((error as Error).message, /^MP4: /)
    }
  }
  await fc.assert(fc.asyncProperty(damage, shows), { numRuns: 300 })
})
