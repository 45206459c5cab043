import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { joinAv1 } from './av1-payload.ts'
import { FrameAssembler } from './frame-assembler.ts'
import { joinH264 } from './h264-payload.ts'
import { readRtcp, writeArrivals, writeNack } from './rtcp.ts'
import { readRtp } from './rtp.ts'
import { joinVp8, joinVp9 } from './vpx-payload.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(/\s/g, ''), 'hex')

test('the units of H.264 are joined from single, aggregated and split packets', () => {
  const packets = ['6742', '18 0002 6801 0001 06', '7c85 aabb', '7c05 cc', '7c45 dd'].map(hex)
  const expected = '000001 6742 000001 6801 000001 06 000001 65aabb cc dd'
  assert.equal(joinH264(packets).toString('hex'), hex(expected).toString('hex'))
})

test('the size of a VP8 key frame is read behind its descriptor', () => {
  const frame = '10 0000 9d012a 8002 6801'
  for (const descriptor of ['10', '9080 05', '9080 8005', '90c0 8005 01', '90f0 8005 01 40'])
    assert.deepEqual(joinVp8([hex(descriptor + frame)]), {
      data: hex(frame),
      isKeyFrame: true,
      format: '640 360',
    })
  assert.equal(joinVp8([hex('10 11 0000')])?.isKeyFrame, false)
})

test('the units of AV1 get their sizes, also if they are split', () => {
  // A sequence header in full, and a frame of which the second packet has the rest.
  const joined = joinAv1([hex('68 03 08aabb 30cc'), hex('90 dd')])
  assert.equal(joined?.data.toString('hex'), '0a02aabb3202ccdd')
  assert.equal(joined?.isKeyFrame, true)
  assert.equal(joinAv1([hex('90 dd')]), undefined)
})

/** An assembler, the timestamps of its frames, and how often something was lost. */
function assemble() {
  const frames: number[] = []
  const result = { frames, losses: 0, add }
  const assembler = new FrameAssembler({
    onFrame: ({ timestamp }) => frames.push(timestamp),
    onLoss() {
      result.losses++
    },
  })
  const rest = { payload: hex('6700'), payloadType: 96, sequence: 0, ssrc: 1, transportSequence: undefined }
  function add(timestamp: number, marker: boolean, isAfterGap = false) {
    assembler.add({ ...rest, timestamp, marker }, isAfterGap)
  }
  return result
}

test('missing packets leave out the frames that they belong to', () => {
  const assembled = assemble()
  const { frames, add } = assembled
  add(1, false)
  add(1, true)
  add(2, false)
  add(2, true, true)
  add(3, true)
  // The end of the fourth frame and the beginning of the fifth are missing.
  add(4, false)
  add(5, true, true)
  add(6, true)
  assert.deepEqual(frames, [1, 3, 6])
  assert.equal(assembled.losses, 2)
  // A sender that marks the ends of frames has left out the rest of this one.
  add(7, false)
  add(8, true)
  assert.deepEqual(frames, [1, 3, 6, 8])
  assert.equal(assembled.losses, 3)
})

test('frames of a sender that marks no ends are complete', () => {
  const assembled = assemble()
  for (const timestamp of [1, 1, 2, 3]) assembled.add(timestamp, false)
  assert.deepEqual([assembled.frames, assembled.losses], [[1, 2], 0])
})

test('a frame that never ends is left out, and the next one is complete', () => {
  const assembled = assemble()
  for (let i = 0; i < 10_000; i++) assembled.add(1, false)
  assembled.add(1, true)
  assembled.add(2, true)
  assert.deepEqual([assembled.frames, assembled.losses], [[2], 1])
})

test('the parts of a large unit of AV1 are joined at once', () => {
  const part = Buffer.concat([Buffer.from([0x90]), Buffer.alloc(1_000, 1)])
  const joined = joinAv1([hex('18 30'), ...Array.from({ length: 8_000 }, () => part)])
  assert.equal(joined?.data.length, 1 + 4 + 8_000_000)
})

test('requests and reports are written as the standards say', () => {
  assert.equal(
    writeNack(1, 2, [5, 6, 8, 40]).toString('hex'),
    '81cd00040000000100000002000500050028' + '0000',
  )
  const arrivals = writeArrivals(1, 2, { first: 7, times: [64_000, undefined, 64_500, 164_500], count: 3 })
  assert.equal(
    arrivals.toString('hex'),
    '8fcd0006' + '00000001' + '00000002' + '00070004' + '00000103' + 'd18000020190' + '0000',
  )
})

test('garbage does not end anything', () => {
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 80 }).map((array) => Buffer.from(array))
  fc.assert(
    fc.property(fc.array(bytes, { minLength: 1, maxLength: 4 }), (payloads) => {
      for (const join of [joinH264, joinVp8, joinVp9, joinAv1]) join(payloads)
      readRtcp(payloads[0]!)
      readRtp(Buffer.concat([Buffer.from([0x90]), ...payloads]), 3)
    }),
    { numRuns: 2_000 },
  )
})
