import { PacketReader, type TsPacket } from './packets.ts'
import { type PesPacket, PesReader } from './pes.ts'
import { readProgramPid, readStreams, SectionReader, type StreamEntry } from './sections.ts'

export type Codec = 'h264' | 'hevc' | 'aac' | 'other-video' | 'other-audio'

type Options = {
  /** The streams that follow, at most one of a kind. */
  onStreams(streams: { video: Codec | undefined; audio: Codec | undefined }): void
  onVideo(packet: PesPacket): void
  onAudio(packet: PesPacket): void
}

const programsPid = 0

/**
 * Takes the frames of the first program out of MPEG-TS. Everything may change at any time: the program, its streams and
 * their PIDs.
 */
export class TsDemuxer {
  readonly #options: Options
  readonly #packets = new PacketReader()
  readonly #programs = new SectionReader()
  #streams = new SectionReader()
  #streamsPid: number | undefined
  /** The last table of streams, which is repeated several times in a second. */
  #table: Buffer | undefined
  #readers = new Map<number, PesReader>()

  constructor(options: Options) {
    this.#options = options
  }

  read(bytes: Buffer): void {
    this.#packets.read(bytes, (packet) => this.#receive(packet))
  }

  #receive(packet: TsPacket): void {
    const reader = this.#readers.get(packet.pid)
    if (reader) reader.read(packet)
    else if (packet.pid === programsPid) this.#readPrograms(packet)
    else if (packet.pid === this.#streamsPid) this.#readStreams(packet)
  }

  #readPrograms(packet: TsPacket): void {
    const section = this.#programs.read(packet)
    const pid = section && readProgramPid(section)
    if (pid === undefined || pid === this.#streamsPid) return
    this.#streamsPid = pid
    this.#streams = new SectionReader()
  }

  #readStreams(packet: TsPacket): void {
    const section = this.#streams.read(packet)
    if (!section || this.#table?.equals(section)) return
    const streams = readStreams(section)
    if (!streams) return
    this.#table = section
    const { onStreams, onVideo, onAudio } = this.#options
    const video = choose(streams, isVideo)
    const audio = choose(streams, isAudio)
    this.#readers = new Map([
      ...(video ? [[video.pid, new PesReader(onVideo)] as const] : []),
      ...(audio ? [[audio.pid, new PesReader(onAudio)] as const] : []),
    ])
    onStreams({ video: video?.codec, audio: audio?.codec })
  }
}

type Chosen = { pid: number; codec: Codec }

/** The first stream with a codec that we read, or else the first one. */
function choose(streams: StreamEntry[], isOfKind: (codec: Codec) => boolean): Chosen | undefined {
  const chosen = streams.flatMap(({ pid, type }) => {
    const codec = codecs[type]
    return codec && isOfKind(codec) ? [{ pid, codec }] : []
  })
  return chosen.find(({ codec }) => !codec.startsWith('other')) ?? chosen[0]
}

/** By stream type. Others are data, or subtitles. */
const codecs: Record<number, Codec> = {
  1: 'other-video',
  2: 'other-video',
  3: 'other-audio',
  4: 'other-audio',
  15: 'aac',
  16: 'other-video',
  17: 'other-audio',
  27: 'h264',
  36: 'hevc',
  51: 'other-video',
  129: 'other-audio',
  135: 'other-audio',
}

const isVideo = (codec: Codec) => codec === 'h264' || codec === 'hevc' || codec === 'other-video'
const isAudio = (codec: Codec) => !isVideo(codec)
