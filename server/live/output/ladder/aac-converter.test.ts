import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { pino } from 'pino'
import { type AudioConfig, AudioReader, type Sample } from '../../media/flv.ts'
import { AacConverter } from './aac-converter.ts'

const log = pino({ level: 'silent' })

type Source = { config: AudioConfig; samples: Sample[] }

/** The MP3 frames of a tone, as an encoder sends them. */
function mp3(rate: number, seconds: number, channels: number): Source {
  const tone = `-v error -f lavfi -i sine=d=${seconds}:r=${rate} -ac ${channels}`
  const format = '-c:a libmp3lame -b:a 64k -id3v2_version 0 -write_xing 0 -f mp3 pipe:1'
  const frames = execFileSync('ffmpeg', `${tone} ${format}`.split(' '))
  const reader = new AudioReader()
  let config: AudioConfig | undefined
  const samples: Sample[] = []
  for (let at = 0; at < frames.length; ) {
    const padding = (frames[at + 2]! >> 1) & 1
    const bytes = Math.floor(((rate > 24_000 ? 144 : 72) * 64_000) / rate) + padding
    const payload = Buffer.concat([Buffer.from([0x2f]), frames.subarray(at, at + bytes)])
    const atMs = Math.round((samples.length * 1000 * (config?.frameLength ?? 0)) / rate)
    for (const event of reader.read(atMs, payload)) {
      if (event && 'config' in event) config = event.config
      if (event && 'sample' in event) samples.push(event.sample)
    }
    at += bytes
  }
  return { config: config!, samples }
}

test('MP3 becomes AAC with the times of the source', async ({ signal }) => {
  for (const [rate, channels] of [
    [44_100, 2],
    [48_000, 1],
    [22_050, 1],
  ] as const) {
    const source = mp3(rate, 1, channels)
    const configs: AudioConfig[] = []
    const times: number[] = []
    const converter = new AacConverter({
      tools: { ffmpeg: 'ffmpeg' },
      log,
      onConfig: (config) => configs.push(config),
      onAudio: (_, atMs) => times.push(atMs),
      onFailure: (reason) => assert.fail(reason),
    })
    converter.configure(source.config)
    for (const sample of source.samples) converter.audio(sample, 5_000 + sample.decodeTime)
    await converter.close(signal)
    const [config, ...more] = configs
    assert.deepEqual(more, [])
    assert.deepEqual([config?.kind, config?.sampleRate, config?.channels], ['aac', rate, channels])
    const frameMs = (1000 * 1024) / rate
    const sourceMs = (1000 * source.samples.length * source.config.frameLength) / rate
    // The first frame contains what the encoder needs to begin.
    assert.ok(Math.abs(times[0]! - (5_000 - frameMs)) <= 2, `${rate}: begins at ${times[0]}`)
    assert.ok(
      Math.abs(times.at(-1)! - (5_000 + sourceMs - frameMs)) <= frameMs,
      `${rate}: ends at ${times.at(-1)}`,
    )
    for (const [i, atMs] of times.entries()) {
      const gap = atMs - (times[i - 1] ?? atMs - frameMs)
      assert.ok(Math.abs(gap - frameMs) <= 3, `${rate}: ${gap} ms between two frames`)
    }
  }
})

test('a conversion that always fails is given up, with a reason', async () => {
  const failures: string[] = []
  const converter = new AacConverter({
    tools: { ffmpeg: 'false' },
    log,
    onConfig: () => assert.fail(),
    onAudio: () => assert.fail(),
    onFailure: (reason) => failures.push(reason),
  })
  const config: AudioConfig = {
    kind: 'mp3',
    record: Buffer.alloc(0),
    sampleRate: 44_100,
    channels: 2,
    frameLength: 1152,
  }
  converter.configure(config)
  for (let atMs = 0; failures.length === 0; atMs += 26) {
    converter.audio(
      { decodeTime: atMs, compositionOffset: 0, isKeyFrame: true, data: Buffer.alloc(400) },
      atMs,
    )
    await delay(5)
  }
  assert.deepEqual(failures, ['The MP3 audio cannot be converted to AAC. Set the encoder to AAC.'])
  await converter.close()
})
