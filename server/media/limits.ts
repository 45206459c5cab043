import { spawnSync } from 'node:child_process'
import { childEnvironment } from '../lib/environment.ts'

export const MAX_SIDE = 16_384
/** 8K in every common shape (8192x4320, 7680x4320, 8192x4096). 17 such pictures of 10 bits fit into 2 GiB. */
export const MAX_PIXELS = 8192 * 4608
/** Films with 30 languages and their fonts stay below; each stream costs a parser and a decoder. */
const MAX_STREAMS = 200
/** A picture of MAX_PIXELS with 8 bytes each, or the index of a film of many hours. */
const MAX_ALLOCATION_BYTES = 512 * 1024 ** 2

/**
 * Containers that hold everything themselves. Whatever names other files (hls, dash, concat, image2, sdp, imf, vobsub)
 * stays out, and so do bare pictures, GIF among them: it is no video to host, and one more parser for hostile bytes.
 * ffmpeg compares these names with all names of a demuxer: `mov` is also mp4, m4a and 3gp, `matroska` also webm.
 */
const CONTAINERS = [
  ...['mov', 'matroska', 'avi', 'mpegts', 'mpeg', 'flv', 'ogg', 'asf', 'mxf', 'dv'],
  ...['wav', 'mp3', 'aac', 'flac'],
]

/**
 * What stands in front of each `-i` of a file that a tenant sent, for ffprobe and ffmpeg alike.
 * `enable_drefs` and `use_absolute_path` of mov are off by default, and naming them would break every other container.
 */
export function inputLimits(options: { isServed?: boolean } = {}): string[] {
  return [
    // An empty proxy: one that is set for the whole service must not get to see requests to our own loopback server.
    ...(options.isServed
      ? ['-protocol_whitelist', 'http,tcp', '-http_proxy', '']
      : ['-protocol_whitelist', 'file']),
    ...['-format_whitelist', CONTAINERS.join(',')],
    ...['-max_streams', `${MAX_STREAMS}`],
    ...['-max_pixels', `${MAX_PIXELS}`],
    ...['-max_alloc', `${MAX_ALLOCATION_BYTES}`],
    // Twice the defaults: in a transport stream the sound may begin late, and without it there is no sound at all.
    ...['-probesize', '10000000', '-analyzeduration', '10000000'],
    ...['-threads', '1'],
  ]
}

export type ChildLimits = {
  /** Address space, not memory in use: 3840x2160 in 10 bits to six x264 outputs takes 1.5 GiB, 2.6 with threads. */
  memoryBytes?: number
  /** CPU time rather than elapsed time, which depends on what else the machine does. */
  cpuSeconds?: number
  /** The size of each file it writes. */
  fileBytes?: number
}

/**
 * CPU time is watched by the service, which can tell it from a kill by the kernel; the limit of the kernel is higher and
 * only for a service that is too busy to watch.
 */
export const watchedLimits = ({ cpuSeconds }: ChildLimits) => ({
  cpuMs: cpuSeconds === undefined ? undefined : cpuSeconds * 1000,
})
const KERNEL_CPU_FACTOR = 2

const DEFAULT_MEMORY_BYTES = 4 * 1024 ** 3

let wrappers: { hasPrlimit: boolean; hasSetpriv: boolean } | undefined

/** The argv that runs `argv` within these limits, as far as the host has the programs for it (util-linux). */
export function childLimits(argv: readonly string[], limits: ChildLimits = {}): string[] {
  // Tried rather than looked up: a host whose own limit is lower refuses a higher one, and then has a limit already.
  const works = (command: string, args: string[]) =>
    spawnSync(command, [...args, command, '--version'], { env: childEnvironment() }).status === 0
  wrappers ??= {
    hasPrlimit: works('prlimit', [...prlimitOptions({}), '--']),
    hasSetpriv: works('setpriv', dieWithParent),
  }
  return [
    ...(wrappers.hasSetpriv ? ['setpriv', ...dieWithParent] : []),
    ...(wrappers.hasPrlimit ? ['prlimit', ...prlimitOptions(limits), '--'] : []),
    ...argv,
  ]
}

/** Copying streams: a hundred times what it takes, and room for sound that has to be decoded. */
export const copyLimits = (bytes: number): ChildLimits => ({
  cpuSeconds: 60 + bytes / 1e6,
  fileBytes: 1024 ** 3 + 100 * bytes,
})

/**
 * Encoding a chunk: a hundred times what an ordinary computer takes for so many pixels, in and out, and what it takes to
 * decode the source up to the chunk if that has no key frames.
 */
export const pictureLimits = (work: {
  frames: number
  megapixels: number
  sourceBytes: number
}): ChildLimits => ({ cpuSeconds: 120 + work.frames * work.megapixels + work.sourceBytes / 1e5 })

export const soundLimits = (work: { seconds: number; sourceBytes: number }): ChildLimits => ({
  cpuSeconds: 120 + work.seconds + work.sourceBytes / 1e5,
})

/** A service that is killed takes its ffmpegs along: one that hangs would stay for ever. */
const dieWithParent = ['--pdeathsig', 'KILL', '--']

function prlimitOptions(limits: ChildLimits): string[] {
  const { memoryBytes = DEFAULT_MEMORY_BYTES, cpuSeconds, fileBytes } = limits
  return [
    `--as=${memoryBytes}`,
    // Hostile files crash decoders; a core of 4 GiB for each attempt would fill the disk.
    '--core=0',
    ...(cpuSeconds === undefined ? [] : [`--cpu=${Math.ceil(KERNEL_CPU_FACTOR * cpuSeconds) + 1}`]),
    ...(fileBytes === undefined ? [] : [`--fsize=${Math.ceil(fileBytes)}`]),
  ]
}
