import { createCipheriv, createHmac, timingSafeEqual } from 'node:crypto'
import type { SrtpKeys } from './dtls.ts'
import { isRtcp, rtpHeaderBytes } from './rtp.ts'

// SRTP (RFC 3711) with the profile that every implementation of WebRTC has: AES-128 in counter mode and HMAC-SHA1 with 80 bits.

const cipher = 'aes-128-ctr'
const tagBytes = 10
const authKeyBytes = 20
const saltBytes = 14
const rtcpHeaderBytes = 8
const indexBytes = 4
const encrypted = 0x80000000
/** Senders have one or two sources for each track. */
const maxSources = 16
const half = 0x8000

type SessionKeys = { cipher: Buffer; auth: Buffer; salt: Buffer }

/** RFC 3711, 4.3.1. */
function deriveKeys({ key, salt }: SrtpKeys, firstLabel: number): SessionKeys {
  const derive = (label: number, length: number) => {
    const iv = Buffer.concat([salt, Buffer.alloc(2)])
    iv[7]! ^= label
    return createCipheriv(cipher, key, iv).update(Buffer.alloc(length))
  }
  return {
    cipher: derive(firstLabel, 16),
    auth: derive(firstLabel + 1, authKeyBytes),
    salt: derive(firstLabel + 2, saltBytes),
  }
}

/** The counter of a packet, RFC 3711, 4.1.1. */
function ivOf(salt: Buffer, ssrc: number, high: number, low: number): Buffer {
  const iv = Buffer.alloc(16)
  salt.copy(iv)
  const xor = (at: number, value: number) => iv.writeUInt32BE((iv.readUInt32BE(at) ^ value) >>> 0, at)
  xor(4, ssrc)
  xor(8, high)
  iv.writeUInt16BE(iv.readUInt16BE(12) ^ low, 12)
  return iv
}

function isAuthentic(key: Buffer, content: Buffer, suffix: Buffer | undefined, tag: Buffer): boolean {
  const mac = createHmac('sha1', key).update(content)
  if (suffix) mac.update(suffix)
  return timingSafeEqual(mac.digest().subarray(0, tagBytes), tag)
}

/** The packets of a source that were received: how often its sequence number has wrapped around. */
type Source = { rollovers: number; highest: number; received: ReceivedNumbers }

/** A packet that was lost arrives within a second. */
const replayWindow = 4_096

/** RFC 3711, 3.3.2: whoever records packets could send them once more. */
class ReceivedNumbers {
  /** By the last bits of the number. */
  readonly #latest = new Float64Array(replayWindow).fill(-1)

  /** False for a number that was there, and for one that is too old. */
  add(number: number): boolean {
    const slot = number % replayWindow
    if (this.#latest[slot]! >= number) return false
    this.#latest[slot] = number
    return true
  }
}

/** Decrypts what the other side sends. */
export class SrtpReceiver {
  readonly #rtp: SessionKeys
  readonly #rtcp: SessionKeys
  readonly #sources = new Map<number, Source>()
  readonly #reports = new Map<number, ReceivedNumbers>()

  constructor(keys: SrtpKeys) {
    this.#rtp = deriveKeys(keys, 0)
    this.#rtcp = deriveKeys(keys, 3)
  }

  /** The plain RTP or RTCP packet. Undefined if it is not authentic. */
  receive(packet: Buffer): Buffer | undefined {
    return isRtcp(packet) ? this.#receiveRtcp(packet) : this.#receiveRtp(packet)
  }

  #receiveRtp(packet: Buffer): Buffer | undefined {
    const headerBytes = rtpHeaderBytes(packet)
    const end = packet.length - tagBytes
    if (headerBytes === undefined || end < headerBytes) return undefined
    const ssrc = packet.readUInt32BE(8)
    const sequence = packet.readUInt16BE(2)
    const source = this.#sources.get(ssrc)
    const rollovers = source ? rolloversOf(source, sequence) : 0
    const { cipher: key, auth, salt } = this.#rtp
    const suffix = Buffer.alloc(4)
    suffix.writeUInt32BE(rollovers >>> 0)
    if (!isAuthentic(auth, packet.subarray(0, end), suffix, packet.subarray(end))) return undefined
    if (!this.#count(ssrc, source, { rollovers, sequence })) return undefined
    const decipher = createCipheriv(cipher, key, ivOf(salt, ssrc, rollovers, sequence))
    return Buffer.concat([
      packet.subarray(0, headerBytes),
      decipher.update(packet.subarray(headerBytes, end)),
    ])
  }

  /** Of an authentic packet. False if it is there already, or of too many sources. */
  #count(ssrc: number, known: Source | undefined, { rollovers, sequence }: PacketIndex): boolean {
    if (!known && this.#sources.size >= maxSources) return false
    const source = known ?? { rollovers: 0, highest: sequence, received: new ReceivedNumbers() }
    this.#sources.set(ssrc, source)
    if (rollovers > source.rollovers || (rollovers === source.rollovers && sequence > source.highest)) {
      source.rollovers = rollovers
      source.highest = sequence
    }
    return source.received.add(rollovers * 2 * half + sequence)
  }

  #receiveRtcp(packet: Buffer): Buffer | undefined {
    const tagAt = packet.length - tagBytes
    const indexAt = tagAt - indexBytes
    if (indexAt < rtcpHeaderBytes) return undefined
    const { cipher: key, auth, salt } = this.#rtcp
    if (!isAuthentic(auth, packet.subarray(0, tagAt), undefined, packet.subarray(tagAt))) return undefined
    const word = packet.readUInt32BE(indexAt)
    const index = word % encrypted
    const ssrc = packet.readUInt32BE(4)
    if (!this.#countReport(ssrc, index)) return undefined
    if (word < encrypted) return packet.subarray(0, indexAt)
    const iv = ivOf(salt, ssrc, index >>> 16, index & 0xffff)
    const body = createCipheriv(cipher, key, iv).update(packet.subarray(rtcpHeaderBytes, indexAt))
    return Buffer.concat([packet.subarray(0, rtcpHeaderBytes), body])
  }

  #countReport(ssrc: number, index: number): boolean {
    const received = this.#reports.get(ssrc)
    if (!received && this.#reports.size >= maxSources) return false
    const numbers = received ?? new ReceivedNumbers()
    this.#reports.set(ssrc, numbers)
    return numbers.add(index)
  }
}

type PacketIndex = { rollovers: number; sequence: number }

/** RFC 3711, 3.3.1: the number of wraps that brings the packet closest to the latest one. */
function rolloversOf({ rollovers, highest }: Omit<Source, 'received'>, sequence: number): number {
  if (highest < half) return sequence - highest > half ? Math.max(0, rollovers - 1) : rollovers
  return highest - half > sequence ? rollovers + 1 : rollovers
}

/** Encrypts the RTCP packets of our side, which sends no media. */
export class SrtcpSender {
  readonly #keys: SessionKeys
  #index = 0

  constructor(keys: SrtpKeys) {
    this.#keys = deriveKeys(keys, 3)
  }

  protect(packet: Buffer): Buffer {
    const { cipher: key, auth, salt } = this.#keys
    this.#index = (this.#index + 1) % encrypted
    const iv = ivOf(salt, packet.readUInt32BE(4), this.#index >>> 16, this.#index & 0xffff)
    const body = createCipheriv(cipher, key, iv).update(packet.subarray(rtcpHeaderBytes))
    const index = Buffer.alloc(indexBytes)
    index.writeUInt32BE(encrypted + this.#index)
    const content = Buffer.concat([packet.subarray(0, rtcpHeaderBytes), body, index])
    const tag = createHmac('sha1', auth).update(content).digest().subarray(0, tagBytes)
    return Buffer.concat([content, tag])
  }
}
