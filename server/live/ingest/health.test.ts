import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HealthMeter } from './health.ts'

const format = { profile: 100, chroma: 1, bitDepth: 8 }

test('health has the frame rate, bit rate and key frame interval of what arrived', () => {
  const meter = new HealthMeter()
  meter.start({
    video: { record: Buffer.alloc(0), width: 640, height: 360, codec: 'avc1.64001f', format, lengthBytes: 4 },
  })
  for (let i = 0; i <= 250; i++) meter.video(1_000, i * 40, i % 50 === 0)
  const health = meter.read(1, { protocol: 'rtmp' })
  assert.equal(health.frameRate, 25)
  assert.equal(Math.round(health.bitRate! / 1000), 201)
  assert.equal(health.keyFrameInterval, 2)
  assert.deepEqual([health.codecs, health.width, health.height], ['avc1.64001f', 640, 360])
  assert.deepEqual([health.droppedFrames, health.clockJumps, health.problems], [0, 1, []])
})

test('missing frames are counted, and key frames that are far apart are a problem', () => {
  const meter = new HealthMeter()
  meter.start({
    video: { record: Buffer.alloc(0), width: 640, height: 360, codec: 'avc1.64001f', format, lengthBytes: 4 },
  })
  for (let i = 0; i < 300; i++) if (i % 100 !== 99 && i !== 50) meter.video(1_000, i * 40, i % 125 === 0)
  meter.report('store', 'The file store is full.')
  const { droppedFrames, problems } = meter.read(0, { protocol: 'rtmp' })
  assert.equal(droppedFrames, 3)
  assert.deepEqual(problems, [
    'The file store is full.',
    'Key frames are 5 s apart. Set the key frame interval of the encoder to 2 s.',
  ])
  meter.report('store', undefined)
  assert.equal(meter.read(0, { protocol: 'rtmp' }).problems.length, 1)
})

test('the measurement covers the last ten seconds and a bounded number of frames', () => {
  const meter = new HealthMeter()
  meter.start({})
  for (let i = 0; i < 200_000; i++) meter.audio(100, i)
  const { bitRate } = meter.read(0, { protocol: 'rtmp' })
  assert.ok(Math.abs(bitRate! - 800_000) < 1_000)
})

test('a link that loses packets is measured, and says what to change', () => {
  const meter = new HealthMeter()
  const link = { roundTrip: 0.05, packetLoss: 0.1, retransmittedPackets: 7, lostPackets: 2 }
  const health = meter.read(0, { protocol: 'rtmp', link: () => ({ link, problem: 'Lower the bit rate.' }) })
  assert.deepEqual([health.link, health.problems], [link, ['Lower the bit rate.']])
  assert.deepEqual(meter.read(0, { protocol: 'rtmp' }).problems, [])
})
