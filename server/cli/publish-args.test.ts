import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SourceMedia } from '../media/source-media.ts'
import { publishArgs } from './publish-args.ts'

const picture: SourceMedia['picture'] = {
  index: 0,
  codec: 'h264',
  width: 640,
  height: 360,
  rate: { num: 25, den: 1 },
  sourceRate: 25,
  isInterlaced: false,
  dynamicRange: 'sdr',
}
const sound: SourceMedia['sound'] = { index: 1, codec: 'aac', sampleRate: 48_000, channels: 2 }

function argsOf(media: Partial<SourceMedia>) {
  const whole = { container: 'mov', durationSeconds: 1, bitrateKbps: 1, picture: undefined, sound: undefined }
  const args = publishArgs({ path: '/a.mp4', media: { ...whole, ...media } })
  const after = (name: string) => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined)
  return { args, video: after('-c:v'), audio: after('-c:a'), filter: after('-vf') }
}

test('H.264, AAC and MP3 are copied, and everything else is encoded', () => {
  const cases = [
    [{ picture, sound }, 'copy', 'copy'],
    [{ picture: { ...picture, codec: 'hevc' }, sound }, 'libx264', 'copy'],
    [{ picture, sound: { ...sound, codec: 'opus' } }, 'copy', 'aac'],
    [{ picture, sound: { ...sound, codec: 'mp3', sampleRate: 44_100 } }, 'copy', 'copy'],
    [{ picture, sound: { ...sound, codec: 'mp3' } }, 'copy', 'aac'],
    [{ picture: { ...picture, isTurned: true } }, 'libx264', undefined],
    [{ sound }, undefined, 'copy'],
  ] as const
  for (const [media, video, audio] of cases)
    assert.deepEqual([argsOf(media).video, argsOf(media).audio], [video, audio], JSON.stringify(media))
})

test('large pictures are scaled down', () => {
  assert.match(argsOf({ picture: { ...picture, codec: 'vp9', height: 2160 } }).filter!, /^scale=-2:720,/)
  assert.doesNotMatch(argsOf({ picture: { ...picture, codec: 'vp9', height: 720 } }).filter!, /scale/)
})

test('the input is read in real time, and is a file whatever its name is', () => {
  const { args } = argsOf({ picture, sound })
  assert.deepEqual(args.slice(args.indexOf('-re'), args.indexOf('-re') + 3), ['-re', '-i', 'file:/a.mp4'])
  assert.equal(publishArgs(undefined).filter((each) => each === '-re').length, 2)
})
