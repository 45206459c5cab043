// Session descriptions (RFC 8866) of WebRTC: the offer of an encoder, and our answer.

/** Browsers send about 8 KB. */
const maxBytes = 64 * 1024
const maxLines = 2_000
const maxMedia = 8
const maxFormats = 200

export class SdpError extends Error {}

type VideoCodec = 'h264' | 'vp8' | 'vp9' | 'av1'
type Codec = VideoCodec | 'opus'

/** A track of the offer that is received, or one that is rejected. */
type MediaSection = {
  kind: 'audio' | 'video' | 'other'
  protocol: string
  formats: string
  mid: string
  track: Track | undefined
}

export type Track = {
  kind: 'audio' | 'video'
  codec: Codec
  payloadType: number
  /** As in the offer, to be repeated. */
  format: string
  parameters: string | undefined
  /** Packets that are sent again have this type. */
  retransmissionType: number | undefined
  hasNack: boolean
  hasPictureLoss: boolean
  /** The header extension for the report of arrivals. */
  transportId: number | undefined
}

export type Offer = {
  ufrag: string
  password: string
  /** The SHA-256 of the certificate. */
  fingerprint: Buffer
  sections: MediaSection[]
  hasReducedSize: boolean
}

const transportExtension = 'http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01'
/** The first ones are preferred: H.264 is passed through, the others have to be encoded. */
const videoCodecs: VideoCodec[] = ['h264', 'vp8', 'vp9', 'av1']

/** Throws `SdpError`, whose message is a sentence for whoever wrote the encoder. */
export function readOffer(text: string): Offer {
  if (text.length > maxBytes) throw new SdpError(`The offer is longer than ${maxBytes / 1024} KiB.`)
  const lines = text.split(/\r?\n/).filter(Boolean)
  if (lines[0] !== 'v=0')
    throw new SdpError('The body is not a session description: it has to begin with v=0.')
  if (lines.length > maxLines) throw new SdpError(`The offer has more than ${maxLines} lines.`)
  const starts = lines.flatMap((line, i) => (line.startsWith('m=') ? [i] : []))
  if (starts.length === 0) throw new SdpError('The offer has no audio or video.')
  if (starts.length > maxMedia) throw new SdpError(`The offer has more than ${maxMedia} tracks.`)
  const session = lines.slice(0, starts[0])
  const taken = new Set<string>()
  const parts = starts.map((start, i) => lines.slice(start, starts[i + 1]))
  const sections = parts.map((part, i) => readSection(part, i, taken))
  const first = parts[sections.findIndex(({ track }) => track)]
  if (!first) throw new SdpError('The offer has no video as H.264, VP8, VP9 or AV1, and no audio as Opus.')
  // All tracks use the transport of the first one.
  const shared = (name: string) => attributeOf(first, name) ?? attributeOf(session, name)
  const [ufrag, password] = [shared('ice-ufrag'), shared('ice-pwd')]
  if (
    !ufrag ||
    !password ||
    !/^[\w+/=-]{4,256}$/.test(ufrag) ||
    password.length < 22 ||
    password.length > 256
  )
    throw new SdpError('The offer has no valid "ice-ufrag" and "ice-pwd".')
  if (shared('setup') === 'passive') throw new SdpError('The offer has to allow "a=setup:active".')
  return {
    ufrag,
    password,
    fingerprint: readFingerprint(shared('fingerprint')),
    sections,
    hasReducedSize: attributeOf(first, 'rtcp-rsize') !== undefined,
  }
}

function readFingerprint(value: string | undefined): Buffer {
  const [, hex] = /^sha-256 ((?:[0-9a-f]{2}:){31}[0-9a-f]{2})$/i.exec(value ?? '') ?? []
  if (!hex) throw new SdpError('The offer has no "fingerprint" with sha-256.')
  return Buffer.from(hex.replaceAll(':', ''), 'hex')
}

/** The value of an attribute, or an empty text for one without a value. */
function attributeOf(lines: string[], name: string): string | undefined {
  const line = lines.find((each) => each === `a=${name}` || each.startsWith(`a=${name}:`))
  return line?.slice(name.length + 3).trim()
}

function readSection(lines: string[], index: number, taken: Set<string>): MediaSection {
  const [, media = '', port = '', protocol = '', formats = ''] =
    /^m=(\w+) (\d+) (\S+) (.*)$/.exec(lines[0]!) ?? []
  const mid = attributeOf(lines, 'mid') ?? String(index)
  if (!/^[\w-]{1,64}$/.test(mid)) throw new SdpError('A "mid" of the offer is invalid.')
  if (!/^[\w /.-]{1,1000}$/.test(`${protocol} ${formats}`))
    throw new SdpError('An "m=" line of the offer is invalid.')
  const kind = media === 'audio' || media === 'video' ? media : 'other'
  const isSent = ['sendonly', 'sendrecv'].some((direction) => attributeOf(lines, direction) !== undefined)
  const isReceived = ['recvonly', 'inactive'].some((direction) => attributeOf(lines, direction) !== undefined)
  const isRtp = protocol.includes('RTP/SAVPF') && attributeOf(lines, 'rtcp-mux') !== undefined
  const isRejected = port === '0' && attributeOf(lines, 'bundle-only') === undefined
  const mayBeTaken = kind !== 'other' && isRtp && (isSent || !isReceived) && !isRejected && !taken.has(kind)
  const track = mayBeTaken ? readTrack(kind, lines, formats) : undefined
  if (track) taken.add(kind)
  return { kind, protocol, formats, mid, track }
}

type Format = { payloadType: number; name: string; text: string; parameters: string | undefined }

function readTrack(kind: 'audio' | 'video', lines: string[], formats: string): Track | undefined {
  const numbers = new Set(formats.split(' ').slice(0, maxFormats))
  const maps = lines.flatMap((line) => {
    const [, number = '', text = ''] = /^a=rtpmap:(\d{1,3}) ([\w./-]{1,60})$/.exec(line) ?? []
    // Each one counts once.
    if (!numbers.delete(number)) return []
    const parameters = parametersOfFormat(lines, number)
    return [{ payloadType: Number(number), name: text.toLowerCase(), text, parameters }]
  })
  const [codec, chosen] = kind === 'audio' ? (['opus', findOpus(maps)] as const) : findVideo(maps)
  if (!codec || !chosen) return undefined
  const feedback = new Set(
    lines.flatMap((line) => {
      const [, number, value = ''] = /^a=rtcp-fb:(\*|\d+) (.+)$/.exec(line) ?? []
      return number === '*' || number === String(chosen.payloadType) ? [value] : []
    }),
  )
  const extension = lines.find((line) => line.startsWith('a=extmap:') && line.includes(transportExtension))
  const id = Number(/^a=extmap:(\d{1,2})/.exec(extension ?? '')?.[1])
  return {
    kind,
    codec,
    payloadType: chosen.payloadType,
    format: chosen.text,
    parameters: chosen.parameters,
    retransmissionType: maps.find(
      ({ name, parameters }) =>
        name.startsWith('rtx/') && parameters?.split(';').includes(`apt=${chosen.payloadType}`),
    )?.payloadType,
    hasNack: feedback.has('nack'),
    hasPictureLoss: feedback.has('nack pli'),
    transportId: id >= 1 && id <= 14 && feedback.has('transport-cc') ? id : undefined,
  }
}

const parametersOfFormat = (lines: string[], number: string) =>
  lines.find((line) => line.startsWith(`a=fmtp:${number} `))?.slice(`a=fmtp:${number} `.length)

const findOpus = (maps: Format[]) => maps.find(({ name }) => name === 'opus/48000/2')

function findVideo(maps: Format[]): readonly [VideoCodec | undefined, Format | undefined] {
  for (const codec of videoCodecs) {
    const formats = maps.filter(({ name }) => name === `${codec}/90000`)
    const chosen = codec === 'h264' ? findH264(formats) : formats[0]
    if (chosen) return [codec, chosen]
  }
  return [undefined, undefined]
}

/** The mode in which a frame may be larger than a packet. Of several, the profile that the encoder lists first. */
const findH264 = (formats: Format[]) =>
  formats.find(({ parameters }) =>
    parameters?.split(';').some((each) => each.trim() === 'packetization-mode=1'),
  )

export type AnswerOptions = {
  ufrag: string
  password: string
  fingerprint: string
  candidates: string[]
  /** Bits per second that the encoder may send. */
  maxBitRate: number
}

/** The answer: we receive, and only answer the checks of ICE. */
export function writeAnswer(offer: Offer, options: AnswerOptions): string {
  const mids = offer.sections.filter(({ track }) => track).map(({ mid }) => mid)
  const lines = [
    'v=0',
    'o=- 1 1 IN IP4 0.0.0.0',
    's=-',
    't=0 0',
    `a=group:BUNDLE ${mids.join(' ')}`,
    'a=ice-lite',
    'a=msid-semantic: WMS *',
    ...offer.sections.flatMap((section) => writeSection(section, offer, options)),
  ]
  return `${lines.join('\r\n')}\r\n`
}

function writeSection(section: MediaSection, offer: Offer, options: AnswerOptions): string[] {
  const { kind, mid, track, protocol, formats } = section
  const media = kind === 'other' ? 'application' : kind
  if (!track) return [`m=${media} 0 ${protocol} ${formats}`, 'c=IN IP4 0.0.0.0', `a=mid:${mid}`, 'a=inactive']
  const { payloadType: type, retransmissionType: again } = track
  const feedback = [
    ...(track.transportId === undefined ? [] : ['transport-cc']),
    ...(track.hasNack ? ['nack'] : []),
    ...(track.hasPictureLoss ? ['nack pli'] : []),
  ]
  return [
    `m=${media} 9 ${protocol} ${[type, ...(again === undefined ? [] : [again])].join(' ')}`,
    'c=IN IP4 0.0.0.0',
    ...(kind === 'video' ? [`b=AS:${Math.round(options.maxBitRate / 1000)}`] : []),
    `a=mid:${mid}`,
    'a=recvonly',
    'a=rtcp-mux',
    ...(offer.hasReducedSize ? ['a=rtcp-rsize'] : []),
    `a=ice-ufrag:${options.ufrag}`,
    `a=ice-pwd:${options.password}`,
    `a=fingerprint:sha-256 ${options.fingerprint}`,
    'a=setup:passive',
    ...(track.transportId === undefined ? [] : [`a=extmap:${track.transportId} ${transportExtension}`]),
    `a=rtpmap:${type} ${track.format}`,
    ...parametersOf(track).map((parameters) => `a=fmtp:${type} ${parameters}`),
    ...feedback.map((each) => `a=rtcp-fb:${type} ${each}`),
    ...(again === undefined ? [] : [`a=rtpmap:${again} rtx/90000`, `a=fmtp:${again} apt=${type}`]),
    ...options.candidates.map((candidate) => `a=candidate:${candidate}`),
    'a=end-of-candidates',
  ]
}

/** Opus in stereo, and with error correction. The offered parameters of video are kept. */
function parametersOf({ codec, parameters }: Track): string[] {
  if (codec === 'opus') return ['minptime=10;useinbandfec=1;stereo=1;sprop-stereo=1']
  return parameters && /^[\w=;., -]{1,300}$/.test(parameters) ? [parameters] : []
}
