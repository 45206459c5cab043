import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ExaminedSource } from './examine.ts'
import { makePlan } from './plan.ts'

const source = {
  key: 'source',
  bytes: 1_000_000,
  media: {
    container: 'mov',
    durationSeconds: 3_700,
    bitrateKbps: 100,
    sound: undefined,
    picture: { width: 640, height: 360, rate: { num: 25, den: 1 } },
  },
  extent: {
    videoStartSeconds: 0,
    videoEndSeconds: 3_700,
    audioEndSeconds: undefined,
    isSeekable: true,
  },
  content: undefined,
} as unknown as ExaminedSource

const sandbox = { seconds: 30, hasWatermark: true } as Parameters<typeof makePlan>[0]['config']['sandbox']

/** The part of the source that is encoded, in seconds. */
function partOf(startTimecode: string | undefined, endTimecode: string | undefined): number[] {
  const clip = { ...(startTimecode && { startTimecode }), ...(endTimecode && { endTimecode }) }
  const video = { environment: 'production', clip, watermark: null }
  const { offsetSeconds, frames } = makePlan({ config: { sandbox } }, source, video)
  return [offsetSeconds, offsetSeconds + frames / 25].map((seconds) => Number(seconds.toFixed(3)))
}

test('a clip begins and ends at timecodes of every form', () => {
  assert.deepEqual(partOf('00:00:05', '00:01:05'), [5, 65])
  assert.deepEqual(partOf('00:00:05.520', '01:00:00'), [5.52, 3_600])
  assert.deepEqual(partOf('00:00:05:13', '00:00:06:01'), [5.52, 6.04])
  assert.deepEqual(partOf('5', '65'), [5, 65])
  assert.deepEqual(partOf('5.52', undefined), [5.52, 3_700])
  assert.deepEqual(partOf(undefined, '65'), [0, 65])
})

test('a clip ends with its source, and one that contains nothing of it is ignored', () => {
  assert.deepEqual(partOf('3690', '4000'), [3_690, 3_700])
  assert.deepEqual(partOf('65', '5'), [0, 3_700])
  assert.deepEqual(partOf('4000', undefined), [0, 3_700])
})
