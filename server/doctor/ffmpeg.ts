import { runSandboxed } from '../media/sandbox.ts'
import { type Check, type Finding, failed, firstLine, ok, warning } from './check.ts'

/** The oldest version that Kinora is tested with. */
const minMajor = 5

/** What Kinora passes to ffmpeg. Without any of these, some video cannot be encoded. */
const required = {
  encoders: ['libx264', 'aac', 'mjpeg', 'png', 'pcm_s16le'],
  decoders: ['h264', 'aac', 'mp3float', 'png', 'mjpeg'],
  filters: [
    ...[
      'scale',
      'format',
      'setsar',
      'pad',
      'overlay',
      'split',
      'fps',
      'tpad',
      'select',
      'setpts',
      'tile',
      'color',
    ],
    ...['transpose', 'hflip', 'vflip', 'premultiply', 'unpremultiply', 'colorchannelmixer', 'setparams'],
    ...['aresample', 'atrim', 'asetpts', 'apad', 'aformat', 'pan'],
  ],
  muxers: ['mp4', 'matroska', 'adts', 'flv', 'image2', 'rawvideo', 's16le'],
  demuxers: ['mov', 'flv', 'png_pipe', 'jpeg_pipe'],
}

/** Without these, some sources cannot be read, or look worse. */
const useful = {
  decoders: ['hevc', 'vp8', 'vp9', 'av1', 'prores', 'mpeg4', 'mpeg2video', 'opus', 'vorbis', 'flac', 'ac3'],
  filters: ['zscale', 'tonemap'],
  demuxers: ['matroska', 'avi', 'mpegts', 'mpeg', 'ogg', 'asf', 'mxf', 'dv', 'wav', 'mp3', 'aac', 'flac'],
}

type Kind = keyof typeof required
const kinds = Object.keys(required) as Kind[]

/** A decoder counts by its codec: `libdav1d` and `av1` both decode AV1. */
const alternatives: Record<string, string[]> = { av1: ['libdav1d', 'libaom-av1'], mp3float: ['mp3'] }

const install =
  'Install ffmpeg 5.1 or newer with libx264, such as the one of Debian or Ubuntu, or set KINORA_FFMPEG.'

export const ffmpegCheck: Check = {
  name: 'ffmpeg',
  ifStuck: 'The program in KINORA_FFMPEG does not end: install another ffmpeg.',
  async run({ config: { ffmpeg, ffprobe, roles } }, signal) {
    const broken = roles.has('worker') || roles.has('live') ? failed : unneeded
    const run = async (command: string, args: string[]) =>
      (await runSandboxed(command, args, { signal })).stdout
    let version: string | undefined
    try {
      version = /^ffmpeg version (\S+)/.exec(await run(ffmpeg, ['-version']))?.[1]
    } catch (error) {
      return broken(`The program in KINORA_FFMPEG cannot be used: it ${firstLine(error)}.`, install)
    }
    if (version === undefined) return broken('The program in KINORA_FFMPEG is not ffmpeg.', install)
    try {
      await run(ffprobe, ['-version'])
    } catch (error) {
      return broken(
        `The program in KINORA_FFPROBE cannot be used: it ${firstLine(error)}.`,
        'Install ffprobe, which belongs to ffmpeg, or set KINORA_FFPROBE.',
      )
    }
    const lists = await Promise.all(kinds.map((kind) => run(ffmpeg, ['-hide_banner', `-${kind}`])))
    const found = Object.fromEntries(kinds.map((kind, i) => [kind, namesIn(lists[i]!)]))
    return judgeFfmpeg(version, found as Record<Kind, Set<string>>)
  },
}

/** Processes without the roles worker and live only convert images. */
const unneeded = (message: string, advice: string): Finding =>
  warning(`${message} In this process, only uploads of thumbnails and watermarks need it.`, advice)

/** The names in a list such as ` V....D h264   H.264`. Demuxers may have several: `mov,mp4,m4a`. */
const namesIn = (list: string): Set<string> =>
  new Set(
    [...list.matchAll(/^\s*[A-Z.|]{1,6}\s+([\w,-]+)\s/gm)].flatMap(([, names = '']) => names.split(',')),
  )

function judgeFfmpeg(version: string, found: Record<Kind, Set<string>>): Finding {
  const missing = (wanted: Partial<Record<Kind, string[]>>) =>
    kinds.flatMap((kind) =>
      (wanted[kind] ?? [])
        .filter((name) => ![name, ...(alternatives[name] ?? [])].some((each) => found[kind].has(each)))
        .map((name) => `${kind.slice(0, -1)} ${name}`),
    )
  const needed = missing(required)
  if (needed.length > 0) return failed(`ffmpeg ${version} lacks ${needed.join(', ')}.`, install)
  // Builds from the repository have no number: N-112233-gabcdef.
  const major = Number(/^n?(\d+)\./.exec(version)?.[1] ?? minMajor)
  if (major < minMajor) return failed(`ffmpeg ${version} is too old.`, install)
  const other = missing(useful)
  if (other.length === 0) return ok(`ffmpeg ${version} can do everything that Kinora needs.`)
  return warning(
    `ffmpeg ${version} lacks ${other.join(', ')}: some files cannot be read, or HDR looks pale.`,
    'Install a complete ffmpeg, such as the one of Debian or Ubuntu.',
  )
}
