import { spawnSync } from 'node:child_process'
import { childEnvironment } from '../lib/environment.ts'

export const MAX_SIDE = 16_384
/** 8K in every common format (8192x4320, 7680x4320, 8192x4096). 17 such frames with 10 bits fit into 2 GiB. */
export const MAX_PIXELS = 8192 * 4608
/** Films with 30 languages and their fonts have fewer. Each stream costs a parser and a decoder. */
const MAX_STREAMS = 200
/** Enough for a frame of MAX_PIXELS with 8 bytes per pixel, or for the index of a film of many hours. */
export const MAX_ALLOCATION_BYTES = 512 * 1024 ** 2

/**
 * Self-contained containers. Formats that refer to other files are excluded (hls, dash, concat, image2, sdp, imf, vobsub).
 * So are image formats, including GIF: nobody hosts them as video, and each is one more parser for hostile input.
 * ffmpeg compares these names with all names of a demuxer: `mov` includes mp4, m4a and 3gp, `matroska` includes webm.
 */
const CONTAINERS = [
  ...['mov', 'matroska', 'avi', 'mpegts', 'mpeg', 'flv', 'ogg', 'asf', 'mxf', 'dv'],
  ...['wav', 'mp3', 'aac', 'flac'],
]

/**
 * Input options for files from users, for ffprobe and ffmpeg. `enable_drefs` and `use_absolute_path` of mov are off by
 * default. Setting them would make ffmpeg reject every other container.
 */
export function inputLimits(options: { isServed?: boolean } = {}): string[] {
  return [
    // The empty proxy overrides a proxy of the service, which must not see requests to our loopback server.
    ...(options.isServed
      ? ['-protocol_whitelist', 'http,tcp', '-http_proxy', '']
      : ['-protocol_whitelist', 'file']),
    ...['-format_whitelist', CONTAINERS.join(',')],
    ...['-max_streams', `${MAX_STREAMS}`],
    ...['-max_pixels', `${MAX_PIXELS}`],
    ...['-max_alloc', `${MAX_ALLOCATION_BYTES}`],
    // Twice the defaults. In a transport stream the audio may begin late, and would otherwise not be found.
    ...['-probesize', '10000000', '-analyzeduration', '10000000'],
    ...['-threads', '1'],
  ]
}

export type ChildLimits = {
  /** Limits the address space. 3840x2160 in 10 bits with six x264 outputs takes 1.5 GiB, or 2.6 GiB with threads. */
  memoryBytes?: number | 'unlimited'
  /** Elapsed time would depend on the load of the machine. */
  cpuSeconds?: number
  /** The maximum size of each file that it writes. */
  fileBytes?: number
}

/**
 * The service watches CPU time itself, to distinguish this limit from other kills by the kernel. The kernel's limit is
 * higher, and applies only if the service is too busy to watch.
 */
export const watchedLimits = ({ cpuSeconds }: ChildLimits) => ({
  cpuMs: cpuSeconds === undefined ? undefined : cpuSeconds * 1000,
})
const KERNEL_CPU_FACTOR = 2

const DEFAULT_MEMORY_BYTES = 4 * 1024 ** 3

let wrappers: { hasPrlimit: boolean; hasSetpriv: boolean } | undefined

/** Wraps `argv` in the programs of util-linux that set these limits, as far as the host has them. */
export function childLimits(argv: readonly string[], limits: ChildLimits = {}): string[] {
  // Each program is run once: on a host with a lower limit of its own, setting a higher one fails.
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

/** For copying streams: a hundred times the usual cost, with room for audio that has to be decoded. */
export const copyLimits = (bytes: number): ChildLimits => ({
  cpuSeconds: 60 + bytes / 1e6,
  fileBytes: 1024 ** 3 + 100 * bytes,
})

/**
 * For encoding a chunk: a hundred times what an ordinary computer needs for its input and output pixels, and the cost of
 * decoding the source up to the chunk if the source has no key frames.
 */
export const videoLimits = (work: {
  frames: number
  megapixels: number
  sourceBytes: number
}): ChildLimits => ({ cpuSeconds: 120 + work.frames * work.megapixels + work.sourceBytes / 1e5 })

export const audioLimits = (work: { seconds: number; sourceBytes: number }): ChildLimits => ({
  cpuSeconds: 120 + work.seconds + work.sourceBytes / 1e5,
})

/** ffmpeg is killed together with the service. A hung process would otherwise stay forever. */
const dieWithParent = ['--pdeathsig', 'KILL', '--']

function prlimitOptions(limits: ChildLimits): string[] {
  const { memoryBytes = DEFAULT_MEMORY_BYTES, cpuSeconds, fileBytes } = limits
  return [
    ...(memoryBytes === 'unlimited' ? [] : [`--as=${memoryBytes}`]),
    // Hostile files crash decoders. A core dump of 4 GiB for each crash would fill the disk.
    '--core=0',
    ...(cpuSeconds === undefined ? [] : [`--cpu=${Math.ceil(KERNEL_CPU_FACTOR * cpuSeconds) + 1}`]),
    ...(fileBytes === undefined ? [] : [`--fsize=${Math.ceil(fileBytes)}`]),
  ]
}
