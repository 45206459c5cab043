import { quietArgs } from './images.ts'
import { inputLimits } from './limits.ts'

// Audio for speech recognition: mono PCM with 16 bits, at the rate that speech models are trained with.

export const speechRate = 16_000
const samplesPerMs = speechRate / 1_000
const bytesPerSample = 2
const headerBytes = 44

export const speechArgs = (options: { input: string; output: string }) => [
  ...[...quietArgs, ...inputLimits(), '-i', options.input, '-map', '0:a:0'],
  ...['-ac', '1', '-ar', String(speechRate), '-f', 's16le', options.output],
]

/** The length of PCM in whole milliseconds. */
export const durationOf = (pcm: Buffer) => Math.floor(pcm.length / bytesPerSample / samplesPerMs)

const byteAt = (ms: number) => Math.round(ms * samplesPerMs) * bytesPerSample

export const slicePcm = (pcm: Buffer, fromMs: number, toMs: number) =>
  pcm.subarray(byteAt(fromMs), byteAt(toMs))

/** Servers reject or ignore audio that is much shorter. */
const minWavMs = 1_000

/** A WAV file. Whisper's server reads no other format unless it is configured to. */
export function wavOf(pcm: Buffer): Buffer {
  const paddingBytes = Math.max(0, minWavMs * samplesPerMs * bytesPerSample - pcm.length)
  const dataBytes = pcm.length + paddingBytes
  const header = Buffer.alloc(headerBytes)
  header.write('RIFF', 0, 'latin1')
  header.writeUInt32LE(headerBytes - 8 + dataBytes, 4)
  header.write('WAVEfmt ', 8, 'latin1')
  header.writeUInt32LE(16, 16)
  // 1 is PCM, the second 1 is the number of channels.
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(speechRate, 24)
  header.writeUInt32LE(speechRate * bytesPerSample, 28)
  header.writeUInt16LE(bytesPerSample, 32)
  header.writeUInt16LE(8 * bytesPerSample, 34)
  header.write('data', 36, 'latin1')
  header.writeUInt32LE(dataBytes, 40)
  return Buffer.concat([header, pcm, Buffer.alloc(paddingBytes)])
}

/** The length of the frames whose loudness is measured. */
const frameMs = 20
/** -60 dB of full scale. Nothing that quiet is understood as speech. */
const silentLevel = 0.001

/** The loudness of each frame: the root of the mean square, from 0 to 1. */
function levelsOf(pcm: Buffer): Float32Array {
  const frameSamples = frameMs * samplesPerMs
  const samples = new Int16Array(pcm.buffer, pcm.byteOffset, Math.floor(pcm.length / bytesPerSample))
  const levels = new Float32Array(Math.ceil(samples.length / frameSamples))
  for (let frame = 0; frame < levels.length; frame++) {
    const start = frame * frameSamples
    const end = Math.min(samples.length, start + frameSamples)
    let sum = 0
    for (let i = start; i < end; i++) sum += samples[i]! ** 2
    levels[frame] = Math.sqrt(sum / (end - start)) / 32_768
  }
  return levels
}

export const isSilent = (pcm: Buffer) => levelsOf(pcm).every((level) => level < silentLevel)

/** A pause between two words is about as long. */
const pauseFrames = 15

/**
 * The best place between two times to cut speech: the middle of the longest pause. Without a pause, it is the quietest
 * place, which is rarely inside a word.
 */
export function findCut(pcm: Buffer, fromMs: number, toMs: number): number {
  const levels = levelsOf(slicePcm(pcm, fromMs, toMs))
  const loudness = smooth(levels, pauseFrames)
  const quietest = loudness.reduce((min, level) => Math.min(min, level), 1)
  const isQuiet = (level: number) => level <= Math.max(silentLevel, 1.5 * quietest)
  let best = { start: 0, length: 0 }
  for (let start = 0; start < loudness.length; ) {
    let end = start
    while (end < loudness.length && isQuiet(loudness[end]!)) end++
    if (end - start > best.length) best = { start, length: end - start }
    start = end + 1
  }
  return fromMs + Math.round((best.start + best.length / 2) * frameMs)
}

/** The mean of the frames around each frame. */
function smooth(levels: Float32Array, frames: number): Float32Array {
  const half = Math.floor(frames / 2)
  return levels.map((_, i) => {
    const around = levels.subarray(Math.max(0, i - half), i + half + 1)
    return around.reduce((sum, level) => sum + level, 0) / around.length
  })
}
