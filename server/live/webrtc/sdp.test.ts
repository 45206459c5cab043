import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sampleOffer } from '../../../test/support/live/offer.ts'
import { readOffer, SdpError, writeAnswer } from './sdp.ts'

const options = {
  ufrag: 'ours',
  password: 'our-password',
  fingerprint: 'AB:CD',
  candidates: ['1 1 udp 2130706431 192.0.2.1 8189 typ host'],
  maxBitRate: 8_000_000,
}
const answerTo = (offer: string) => writeAnswer(readOffer(offer), options)

test('the answer accepts the tracks of an encoder', () => {
  const answer = answerTo(sampleOffer())
  for (const line of [
    'a=group:BUNDLE 0 1',
    'a=ice-lite',
    'm=audio 9 UDP/TLS/RTP/SAVPF 111',
    'm=video 9 UDP/TLS/RTP/SAVPF 96',
    'a=setup:passive',
    'a=recvonly',
    'a=rtcp-fb:96 nack pli',
    'a=candidate:1 1 udp 2130706431 192.0.2.1 8189 typ host',
  ])
    assert.ok(answer.includes(`${line}\r\n`), `${line}\n${answer}`)
  // The names of the encoder's sources are not repeated.
  assert.ok(!answer.includes('a=ssrc'))
})

test('H.264 is preferred, and its packets may be split', () => {
  const formats = ['a=rtpmap:97 VP8/90000', 'a=rtpmap:98 H264/90000', 'a=fmtp:98 packetization-mode=0']
  const offer = sampleOffer(formats).replace('SAVPF 96', 'SAVPF 97 98 96')
  assert.match(answerTo(offer), /m=video 9 UDP\/TLS\/RTP\/SAVPF 96\r/)
  const withoutMode = offer.replace('packetization-mode=1', 'packetization-mode=0')
  assert.match(answerTo(withoutMode), /m=video 9 UDP\/TLS\/RTP\/SAVPF 97\r/)
})

test('a second video and data are rejected', () => {
  const [, second] = sampleOffer().split(/(?=m=video)/)
  const data = 'm=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:3\r\n'
  const answer = answerTo(sampleOffer() + second!.replace('a=mid:1', 'a=mid:2') + data)
  assert.match(answer, /m=video 0 [^\n]+\r\nc=[^\n]+\r\na=mid:2\r\n/)
  assert.match(answer, /m=application 0 /)
  assert.match(answer, /a=group:BUNDLE 0 1\r\n/)
})

test('an offer that cannot be accepted is refused with a reason', () => {
  const cases: [RegExp, string][] = [
    [/session description/, 'hello'],
    [/no audio or video/, 'v=0\r\n'],
    [/no video as H.264/, sampleOffer().replaceAll('a=sendonly', 'a=inactive')],
    [/no video as H.264/, sampleOffer().replaceAll('a=rtcp-mux', 'a=x')],
    [/ice-ufrag/, sampleOffer().replaceAll('a=ice-pwd:', 'a=ice-pwd:x\r\na=x:')],
    [/fingerprint/, sampleOffer().replaceAll('sha-256', 'sha-1')],
    [/setup:active/, sampleOffer().replaceAll('a=setup:actpass', 'a=setup:passive')],
    [/more than 8 tracks/, sampleOffer() + 'm=audio 9 X 0\r\n'.repeat(20)],
    [/2000 lines/, sampleOffer(Array.from({ length: 3_000 }, () => 'a=candidate'))],
    [/64 KiB/, sampleOffer(['a=x:'.padEnd(70_000, 'x')])],
    [/mid/, sampleOffer().replace('a=mid:1', 'a=mid:1 2')],
    [/"m="/, sampleOffer().replace('SAVPF 96', 'SAVPF 96 <script>')],
  ]
  for (const [reason, offer] of cases)
    assert.throws(
      () => readOffer(offer),
      (error) => error instanceof SdpError && reason.test(error.message),
    )
})
