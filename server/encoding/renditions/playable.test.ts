import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EncodingPlan } from '../tables.ts'
import { checkPlayable, type PlayableRow } from './playable.ts'

const plan: EncodingPlan = {
  key: 'source',
  offsetSeconds: 0,
  rate: { num: 25, den: 1 },
  // Four segments.
  frames: 300,
  rungs: [
    { quality: '240p', width: 426, height: 240, maxKbps: 400 },
    { quality: '360p', width: 640, height: 360, maxKbps: 800 },
  ],
  hasSound: true,
  isWatermarked: false,
}

const row: PlayableRow = {
  isSourceFailed: false,
  isHidden: false,
  state: 'encoding',
  plan,
  audioFailure: null,
  qualities: { '240p': 'encoding', '360p': 'encoding' },
  begun: ['240p', 'sound'],
  audioSegments: 1,
}

const stateOf = (change: Partial<PlayableRow>) => checkPlayable({ ...row, ...change }).state

test('a video is playable from the first segments of a quality and of its audio on', () => {
  assert.deepEqual(checkPlayable(row), { state: 'ready', plan, hasAudio: true })
  assert.equal(stateOf({ state: null, plan: null }), 'processing')
  assert.equal(stateOf({ begun: [] }), 'processing')
  assert.equal(stateOf({ begun: ['240p'] }), 'processing')
  assert.equal(stateOf({ begun: ['360p', 'sound'] }), 'ready')
  assert.equal(stateOf({ begun: ['360p'] }), 'processing')
  assert.equal(stateOf({ begun: ['240p'], plan: { ...plan, hasSound: false } }), 'ready')
  assert.equal(stateOf({ begun: ['240p'], audioFailure: 'no decoder' }), 'ready')
})

test('a failed quality is left out, and without any other quality the video has failed', () => {
  const failed = checkPlayable({
    ...row,
    qualities: { '240p': 'failed', '360p': 'encoding' },
    begun: ['360p', 'sound'],
  })
  assert.deepEqual(failed, { state: 'ready', plan: { ...plan, rungs: plan.rungs.slice(1) }, hasAudio: true })
  assert.equal(stateOf({ qualities: { '240p': 'failed', '360p': 'failed' } }), 'failed')
  assert.equal(stateOf({ state: 'failed' }), 'failed')
  assert.equal(stateOf({ state: null, plan: null, isSourceFailed: true }), 'failed')
})

test('a complete quality stays playable during a retry, without audio that is not complete', () => {
  const complete = { qualities: { '240p': 'waiting', '360p': 'encoded' }, begun: ['360p'] } as const
  const retry = (audioSegments: number) =>
    checkPlayable({ ...row, ...complete, begun: [...complete.begun], audioSegments })
  assert.deepEqual(retry(4), { state: 'ready', plan, hasAudio: true })
  assert.deepEqual(retry(3), { state: 'ready', plan, hasAudio: false })
  assert.deepEqual(retry(0), { state: 'ready', plan, hasAudio: false })
})
