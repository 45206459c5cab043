import { headerLength } from './packets.ts'

// The handshake of SRT version 5. The caller asks for a cookie (induction) and returns it with its wishes (conclusion).

export const phase = { induction: 1, conclusion: 0xffffffff } as const
/** The listener's answer to an induction has this instead of the flags of extensions. */
const srtMagic = 0x4a17
const bodyLength = 48

const extensionType = {
  srtRequest: 1,
  srtResponse: 2,
  keyRequest: 3,
  keyResponse: 4,
  streamId: 5,
  congestion: 6,
  filter: 7,
  group: 8,
} as const

/** Also the subtypes of packets that change keys. */
export const keyMessage = { request: extensionType.keyRequest, response: extensionType.keyResponse } as const

const extensionFlag = { srt: 1, key: 2 } as const
const capability = {
  timedSender: 1,
  timedReceiver: 2,
  encryption: 4,
  dropsLatePackets: 8,
  repeatsLossReports: 0x10,
  marksRetransmissions: 0x20,
  /** A file instead of live packets. */
  stream: 0x40,
} as const
/**
 * We repeat loss reports, so that libsrt sends again only what is missing. Without that promise it would also repeat the last
 * packet on its own, whose loss nobody can report, but everything else that is not acknowledged within 30 ms as well.
 * A packet that is the very last one of a broadcast may therefore be lost.
 */
const ourCapabilities =
  capability.timedSender |
  capability.timedReceiver |
  capability.encryption |
  capability.dropsLatePackets |
  capability.repeatsLossReports |
  capability.marksRetransmissions
/** The version of libsrt whose behavior the capabilities describe. */
const srtVersion = 0x010500
const maxStreamIdBytes = 512

/** The reasons of a refusal that callers know. libsrt prints them. */
export const rejection = {
  malformed: 4,
  tooMany: 3,
  version: 8,
  passphrase: 10,
  passphraseMissing: 11,
  messageApi: 12,
  congestion: 13,
  filter: 14,
  group: 15,
  unauthorized: 1401,
  wrongMode: 1405,
  conflict: 1409,
  internal: 1500,
  unavailable: 1503,
} as const
export type Rejection = (typeof rejection)[keyof typeof rejection]

export type Handshake = {
  version: number
  initialSequence: number
  phase: number
  /** The caller's id of the connection. */
  socketId: number
  cookie: number
}

/** Undefined if it is too short. */
export function readHandshake(packet: Buffer): Handshake | undefined {
  if (packet.length < headerLength + bodyLength) return undefined
  const word = (i: number) => packet.readUInt32BE(headerLength + 4 * i)
  return {
    version: word(0),
    initialSequence: word(2) & 0x7fffffff,
    phase: word(5),
    socketId: word(6),
    cookie: word(7),
  }
}

/** What the caller wants. */
export type Wishes = {
  streamId: string
  latencyMs: number
  keyMaterial: Buffer | undefined
}

/** Reads the extensions of a conclusion. */
export function readWishes(packet: Buffer): Wishes | { rejected: Rejection } {
  const wishes: Wishes = { streamId: '', latencyMs: 0, keyMaterial: undefined }
  let capabilities: number | undefined
  let rejected: Rejection | undefined
  for (const { type, content } of readExtensions(packet)) {
    if (type === extensionType.srtRequest && content.length >= 12) {
      capabilities = content.readUInt32BE(4)
      // How long the receiver waits at least, in the view of the sender.
      wishes.latencyMs = content.readUInt16BE(10)
    } else if (type === extensionType.keyRequest) wishes.keyMaterial = content
    else if (type === extensionType.streamId) wishes.streamId = readText(content)
    else if (type === extensionType.congestion && readText(content) !== 'live')
      rejected = rejection.congestion
    else if (type === extensionType.filter && readText(content) !== '') rejected = rejection.filter
    else if (type === extensionType.group) rejected = rejection.group
  }
  if (capabilities === undefined) return { rejected: rejection.malformed }
  if (capabilities & capability.stream) return { rejected: rejection.messageApi }
  return rejected === undefined ? wishes : { rejected }
}

function* readExtensions(packet: Buffer): Generator<{ type: number; content: Buffer }> {
  let at = headerLength + bodyLength
  while (at + 4 <= packet.length) {
    const [type, length] = [packet.readUInt16BE(at), 4 * packet.readUInt16BE(at + 2)]
    at += 4
    if (at + length > packet.length) return
    yield { type, content: packet.subarray(at, at + length) }
    at += length
  }
}

/** Texts are sent in words with reversed bytes, and filled up with zeros. */
function readText(content: Buffer): string {
  if (content.length > maxStreamIdBytes) return ''
  return Buffer.from(content).swap32().toString('utf8').replace(/\0+$/, '')
}

/**
 * The stream key: the entire stream id, or the resource of one that follows the access control syntax of SRT
 * (`#!::r=KEY,m=publish`).
 */
export function readStreamId(streamId: string): { streamKey: string } | { rejected: Rejection } {
  const prefix = '#!::'
  if (!streamId.startsWith(prefix)) return { streamKey: streamId }
  const entries = streamId
    .slice(prefix.length)
    .split(',')
    .map((entry) => entry.split('=', 2) as [string, string | undefined])
  const { r: streamKey = '', m: mode = 'publish' } = Object.fromEntries(entries)
  return mode === 'publish' ? { streamKey } : { rejected: rejection.wrongMode }
}

/** The answer to an induction. It is as long as the request at most, so that nothing is amplified. */
export function inductionBody(request: Buffer, cookie: number): Buffer {
  const body = Buffer.from(request.subarray(headerLength, headerLength + bodyLength))
  body.writeUInt32BE(5, 0)
  body.writeUInt16BE(0, 4)
  body.writeUInt16BE(srtMagic, 6)
  body.writeUInt32BE(cookie >>> 0, 28)
  return body
}

export function rejectionBody(request: Buffer, reason: Rejection): Buffer {
  const failure = 1_000
  const body = Buffer.from(request.subarray(headerLength, headerLength + bodyLength))
  body.writeUInt32BE(5, 0)
  body.writeUInt32BE(0, 4)
  body.writeUInt32BE(failure + reason, 20)
  return body
}

type Agreement = {
  socketId: number
  latencyMs: number
  /** The answer to the key material. */
  keyResponse: Buffer | undefined
  maxPacketBytes: number
  windowPackets: number
}

export function conclusionBody(request: Buffer, agreement: Agreement): Buffer {
  const { socketId, latencyMs, keyResponse, maxPacketBytes, windowPackets } = agreement
  const body = Buffer.from(request.subarray(headerLength, headerLength + bodyLength))
  body.writeUInt32BE(5, 0)
  body.writeUInt16BE(0, 4)
  body.writeUInt16BE(extensionFlag.srt | (keyResponse ? extensionFlag.key : 0), 6)
  // With the headers of UDP and IP.
  body.writeUInt32BE(Math.min(body.readUInt32BE(12), maxPacketBytes + 28), 12)
  body.writeUInt32BE(windowPackets, 16)
  body.writeUInt32BE(socketId, 24)
  const settings = Buffer.alloc(12)
  settings.writeUInt32BE(srtVersion, 0)
  settings.writeUInt32BE(ourCapabilities, 4)
  settings.writeUInt16BE(latencyMs, 8)
  settings.writeUInt16BE(latencyMs, 10)
  return Buffer.concat([
    body,
    extension(extensionType.srtResponse, settings),
    ...(keyResponse ? [extension(extensionType.keyResponse, keyResponse)] : []),
  ])
}

function extension(type: number, content: Buffer): Buffer {
  const header = Buffer.alloc(4)
  header.writeUInt16BE(type, 0)
  header.writeUInt16BE(content.length / 4, 2)
  return Buffer.concat([header, content])
}
