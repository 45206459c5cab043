import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { basename } from 'node:path'
import type { Readable } from 'node:stream'
import { childEnvironment } from '../lib/environment.ts'
import { FetchError, UrlNotAllowedError } from '../lib/fetch/errors.ts'
import { RunError } from '../lib/run.ts'
import { readValues } from '../lib/settings.ts'
import { FlvStream, type FlvTag, flvTagType } from '../live/media/flv-stream.ts'
import { networkOf, openClient } from '../live/output/restream/open-client.ts'
import { encodeAmf } from '../live/rtmp/amf0.ts'
import { type RtmpClient, RtmpClientError } from '../live/rtmp/client.ts'
import { probe, Unreadable } from '../media/probe.ts'
import { mediaSettings } from '../media/settings.ts'
import type { Server } from './client.ts'
import type { Output } from './command.ts'
import { CommandError } from './errors.ts'
import { findIngestUrl } from './ingest.ts'
import { createLiveStream, findLiveStream, isBroadcastOver } from './live-streams.ts'
import { checkFile } from './local-file.ts'
import { type Input, publishArgs } from './publish-args.ts'

type Sent = { durationMs: number; bytes: number }
type Encoder = ChildProcessByStdio<null, Readable, Readable>

const maxStderr = 4_096

/** Broadcasts a file, or a test pattern, until its end or until the user ends it. */
export async function publish(
  { file, liveStreamId }: { file: string | undefined; liveStreamId: string | undefined },
  server: Server,
  output: Output,
): Promise<void> {
  const serverUrl = findIngestUrl(server.url)
  const programs = readValues(mediaSettings, process.env)
  const input = file === undefined ? undefined : await readInput(file, programs)
  const name = file === undefined ? 'Test pattern' : basename(file)
  const stream = await (liveStreamId === undefined
    ? createLiveStream(server, name, true)
    : findLiveStream(server, liveStreamId))
  const { player } = stream.assets
  output.print(player, { liveStreamId: stream.liveStreamId, player, server: serverUrl })
  const broadcast = new Broadcast(publishArgs(input), programs.ffmpeg)
  const isShown = !output.isJson && process.stderr.isTTY
  const show = isShown ? progressLine(process.stderr) : () => {}
  const { lost, ...sent } = await broadcast
    .run({ serverUrl, streamKey: stream.streamKey }, show)
    .finally(() => {
      if (isShown) process.stderr.write('\n')
    })
  if (lost) {
    if (!(await isBroadcastOver(server, stream.liveStreamId))) throw new CommandError(lost.message)
    if (!output.isJson) output.print('The broadcast was ended elsewhere.', undefined)
  }
  const seconds = Math.round(sent.durationMs / 1000)
  output.print(`Sent ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`, {
    liveStreamId: stream.liveStreamId,
    ...sent,
  })
}

async function readInput(name: string, programs: { ffmpeg: string; ffprobe: string }): Promise<Input> {
  const { path } = await checkFile(name)
  const media = await probe(programs, path).catch((error) => {
    if (error instanceof Unreadable) throw new CommandError(`${name} cannot be sent: ${error.message}`)
    if (error instanceof RunError) throw unusable('ffprobe', 'KINORA_FFPROBE', error)
    throw error
  })
  return { path, media }
}

const unusable = (program: string, setting: string, { message }: Error) =>
  new CommandError(`${program} cannot be used: ${message.split('\n')[0]}. Install it, or set ${setting}.`)

/** One connection to the service, fed by one ffmpeg. */
class Broadcast {
  readonly #args: string[]
  readonly #ffmpeg: string
  readonly #stop = new AbortController()
  readonly #sent: Sent = { durationMs: 0, bytes: 0 }
  #onDrain: () => void = () => {}

  constructor(args: string[], ffmpeg: string) {
    this.#args = args
    this.#ffmpeg = ffmpeg
  }

  /** Fulfilled when the file has ended, when the user has ended it, or when the connection is lost. */
  async run(
    target: { serverUrl: string; streamKey: string },
    show: (sent: Sent) => void,
  ): Promise<Sent & { lost?: RtmpClientError | undefined }> {
    const { signal } = this.#stop
    const stop = () => this.#stop.abort()
    // A second signal ends the process at once. ffmpeg ends when it cannot write any more.
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
    for (const each of signals) process.once(each, stop)
    let lost: RtmpClientError | undefined
    try {
      const client = await this.#connect(target)
      lost = await this.#send(client, show).finally(() => client.close())
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      for (const each of signals) process.off(each, stop)
    }
    return { ...this.#sent, lost }
  }

  #connect(target: { serverUrl: string; streamKey: string }): Promise<RtmpClient> {
    const options = { signal: this.#stop.signal, onDrain: () => this.#onDrain() }
    return openClient({ name: '', ...target }, networkOf(true), options).catch((error) => {
      const { message } = error as Error
      if (error instanceof RtmpClientError) throw new CommandError(message)
      const isKnown = error instanceof FetchError || error instanceof UrlNotAllowedError
      if (isKnown) throw new CommandError(`${message} Check KINORA_RTMP_PORT.`)
      throw error
    })
  }

  /** Fulfilled with the reason if the connection is lost. */
  async #send(client: RtmpClient, show: (sent: Sent) => void): Promise<RtmpClientError | undefined> {
    const encoder = await startEncoder(this.#ffmpeg, this.#args)
    const { signal } = this.#stop
    const kill = () => {
      encoder.kill('SIGKILL')
      this.#onDrain()
    }
    signal.addEventListener('abort', kill, { once: true })
    if (signal.aborted) kill()
    let lost: RtmpClientError | undefined
    void client.ended.then((reason) => {
      lost = reason
      kill()
    })
    const exited = waitForExit(encoder)
    const flv = new FlvStream()
    for await (const bytes of encoder.stdout as AsyncIterable<Buffer>) {
      for (const tag of flv.read(bytes)) this.#sendTag(client, tag)
      show(this.#sent)
      if (client.isFull && !lost && !signal.aborted) await new Promise<void>((done) => (this.#onDrain = done))
    }
    const failure = await exited
    if (signal.aborted) return undefined
    if (!lost && failure !== undefined) throw new CommandError(failure)
    return lost
  }

  #sendTag(client: RtmpClient, { type, timestamp, payload }: FlvTag): void {
    this.#sent.bytes += payload.length
    this.#sent.durationMs = Math.max(this.#sent.durationMs, timestamp)
    if (type === flvTagType.video) client.send('video', timestamp, payload)
    else if (type === flvTagType.audio) client.send('audio', timestamp, payload)
    else client.send('data', timestamp, Buffer.concat([encodeAmf('@setDataFrame'), payload]))
  }
}

/** In its own process group, so that a Ctrl-C for us does not reach it. */
function startEncoder(ffmpeg: string, args: string[]): Promise<Encoder> {
  const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe']
  const encoder = spawn(ffmpeg, args, { env: childEnvironment(), detached: true, stdio })
  return new Promise((done, reject) => {
    encoder.once('spawn', () => done(encoder))
    encoder.on('error', (error) => reject(unusable('ffmpeg', 'KINORA_FFMPEG', error)))
  })
}

/** Fulfilled with a sentence if it failed. */
function waitForExit(encoder: Encoder): Promise<string | undefined> {
  let stderr = ''
  encoder.stderr.on('data', (bytes: Buffer) => {
    stderr = (stderr + bytes).slice(-maxStderr)
  })
  return new Promise((done) =>
    encoder.once('close', (code) => {
      const last = stderr.trimEnd().split('\n').at(-1)
      done(code === 0 ? undefined : `ffmpeg failed: ${last || `it exited with code ${code}`}.`)
    }),
  )
}

/** Redraws one line on a terminal. */
function progressLine(out: NodeJS.WriteStream): (sent: Sent) => void {
  let shown = -1
  return ({ durationMs, bytes }) => {
    const seconds = Math.floor(durationMs / 1000)
    if (seconds === shown) return
    shown = seconds
    const clock = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
    const rate = durationMs === 0 ? 0 : (bytes * 8) / durationMs / 1000
    out.write(`\rlive  ${clock}  ${rate.toFixed(1)} Mbit/s  Ctrl-C ends it `)
  }
}
