import type { RunError } from '../../../lib/run.ts'
import type { Tools } from '../../../media/ffmpeg.ts'
import { childLimits, MAX_ALLOCATION_BYTES, MAX_PIXELS } from '../../../media/limits.ts'
import { startSandboxed } from '../../../media/sandbox.ts'
import { FlvStream, type FlvTag, flvHeader } from '../../media/flv-stream.ts'

type Options = {
  tools: Pick<Tools, 'ffmpeg'>
  /** What comes in: FLV with one of two codecs, or WebM. */
  input: 'h264' | 'mp3' | 'webm'
  /** The threads of the decoder. */
  threads?: number
  /** The options of all outputs. Output `n` writes to `pipe:{3 + n}`. */
  outputArgs: string[]
  outputs: number
  onTag(output: number, tag: FlvTag): void
}

/** An ffmpeg that reads a stream from its input and writes FLV to pipes, for as long as the input lasts. */
export type FlvProcess = {
  pid: number | undefined
  /** The bytes that ffmpeg has not read yet. */
  queuedBytes(): number
  /** Bytes of the input. The header of FLV is written already. */
  write(bytes: Buffer): void
  /** Ends the input. ffmpeg then writes what it still has, and exits. */
  finish(): void
  kill(): void
  /** Settles when ffmpeg has exited and all tags have been read. Never rejects. */
  ended: Promise<RunError | Error | undefined>
}

/**
 * Live broadcasts have priority over the encoding of uploads, which has 19. The process that passes the source through has
 * priority over both.
 */
const priority = 5

export function startFlvProcess(options: Options): FlvProcess {
  const { tools, input, threads = 1, outputArgs, outputs, onTag } = options
  const streams = Array.from({ length: outputs }, () => new FlvStream())
  let damaged: Error | undefined
  const onOutput = (output: number, bytes: Buffer) => {
    if (damaged) return
    try {
      for (const tag of streams[output]!.read(bytes)) onTag(output, tag)
    } catch (error) {
      damaged = error as Error
      child.kill()
    }
  }
  const [command = '', ...args] = childLimits([tools.ffmpeg, ...inputArgs(input, threads), ...outputArgs])
  const child = startSandboxed(command, args, { outputs, onOutput, priority })
  if (input !== 'webm') child.input.write(headerOf(input))
  return {
    pid: child.pid,
    queuedBytes: () => child.input.writableLength,
    write: (bytes) => void child.input.write(bytes),
    finish: () => void child.input.end(),
    kill: child.kill,
    ended: child.ended.then((error) => damaged ?? error),
  }
}

/** The header announces the one track. ffmpeg would wait for a second one. */
function headerOf(input: 'h264' | 'mp3'): Buffer {
  const header = Buffer.from(flvHeader)
  header[4] = input === 'h264' ? 1 : 4
  return header
}

const decoders = { h264: 'h264', mp3: 'mp3float,mp3', webm: 'opus,vp8,vp9,libdav1d,av1,hevc' }
const formatOf = (input: Options['input']) => (input === 'webm' ? 'matroska' : 'flv')

const inputArgs = (input: Options['input'], threads: number) => [
  ...['-hide_banner', '-nostdin', '-nostats', '-y', '-loglevel', 'error'],
  ...['-protocol_whitelist', 'pipe', '-format_whitelist', formatOf(input)],
  ...['-codec_whitelist', decoders[input]],
  ...['-max_streams', '1', '-max_pixels', `${MAX_PIXELS}`, '-max_alloc', `${MAX_ALLOCATION_BYTES}`],
  // Starts after the first frame. An `analyzeduration` of 0 stands for the default, with which ffmpeg reads 500 kB first.
  // `-fflags nobuffer` would lose the first group of pictures.
  ...['-probesize', '500000', '-analyzeduration', '1', '-fpsprobesize', '0'],
  // The times of the output are those of the input.
  ...['-threads', `${threads}`, '-copyts', '-reinit_filter', '0', '-f', formatOf(input), '-i', 'pipe:0'],
]
