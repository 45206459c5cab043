import assert from 'node:assert/strict'
import { test } from 'node:test'
import { durationOf, findCut, isSilent, slicePcm, speechRate, wavOf } from './speech.ts'

/** A tone whose loudness is a function of the time in milliseconds. */
function pcm(seconds: number, loudness: (ms: number) => number): Buffer {
  const buffer = Buffer.alloc(seconds * speechRate * 2)
  for (let i = 0; i < buffer.length / 2; i++) {
    const wave = Math.sin((2 * Math.PI * 440 * i) / speechRate)
    buffer.writeInt16LE(Math.round(30_000 * loudness((1_000 * i) / speechRate) * wave), i * 2)
  }
  return buffer
}

test('audio is cut in the middle of the longest pause', () => {
  const isPause = (ms: number) => (ms > 3_000 && ms < 3_400) || (ms > 6_000 && ms < 7_000)
  const audio = pcm(10, (ms) => (isPause(ms) ? 0 : 0.5))
  assert.ok(Math.abs(findCut(audio, 2_000, 9_000) - 6_500) <= 40)
  assert.ok(Math.abs(findCut(audio, 2_000, 5_000) - 3_200) <= 40)
})

test('audio without a pause is cut where it is quietest', () => {
  const audio = pcm(10, (ms) => (ms > 4_000 && ms < 4_300 ? 0.1 : 0.5))
  assert.ok(Math.abs(findCut(audio, 2_000, 9_000) - 4_150) <= 100)
})

test('audio of constant loudness is cut between the limits', () => {
  for (const level of [0, 0.5]) {
    const cut = findCut(
      pcm(10, () => level),
      7_500,
      10_000,
    )
    assert.ok(cut > 7_500 && cut < 10_000, `${cut}`)
  }
})

test('only audio without anything audible is silent', () => {
  assert.equal(isSilent(pcm(1, () => 0)), true)
  assert.equal(isSilent(pcm(1, () => 0.0005)), true)
  assert.equal(isSilent(pcm(2, (ms) => (ms > 1_900 ? 0.01 : 0))), false)
})

test('slices join without a gap', () => {
  const audio = pcm(2, (ms) => ms / 2_000)
  const parts = [slicePcm(audio, 0, 777), slicePcm(audio, 777, 2_000)]
  assert.ok(Buffer.concat(parts).equals(audio))
  assert.equal(durationOf(parts[0]!), 777)
})

test('a WAV file has a header with its size, and at least one second', () => {
  const wav = wavOf(pcm(2, () => 0.5))
  assert.equal(wav.length, 44 + 64_000)
  assert.equal(wav.toString('latin1', 0, 4), 'RIFF')
  assert.equal(wav.readUInt32LE(4), wav.length - 8)
  assert.equal(wav.readUInt32LE(24), 16_000)
  assert.equal(wav.readUInt32LE(40), 64_000)
  assert.equal(
    wavOf(
      slicePcm(
        pcm(1, () => 0.5),
        0,
        10,
      ),
    ).length,
    44 + 32_000,
  )
})
