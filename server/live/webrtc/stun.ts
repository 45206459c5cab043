import { createHmac, timingSafeEqual } from 'node:crypto'
import { isIPv4 } from 'node:net'
import { crc32 } from 'node:zlib'

// The part of STUN (RFC 8489) that an agent needs that only answers checks of ICE (RFC 8445, 2.5: a lite implementation).

const headerBytes = 20
const cookie = 0x2112a442
const bindingRequest = 0x0001
const bindingResponse = 0x0101
const attribute = {
  username: 0x0006,
  integrity: 0x0008,
  mappedAddress: 0x0020,
  useCandidate: 0x0025,
  fingerprint: 0x8028,
} as const
const integrityBytes = 20
const fingerprintXor = 0x5354554e
/** Requests of ICE have about 100 bytes. */
const maxBytes = 512

export type Address = { address: string; port: number }

export type BindingRequest = {
  /** Ours and that of the other side, with a colon between them. */
  username: string
  /** The other side has chosen this path. */
  useCandidate: boolean
  transaction: Buffer
  bytes: Buffer
  integrityAt: number
}

/** STUN, DTLS and RTP use the same port. RFC 7983. */
export const isStun = (bytes: Buffer) =>
  bytes.length >= headerBytes && bytes[0]! < 4 && bytes.readUInt32BE(4) === cookie

/** Undefined if it is something else, or damaged. Its integrity has to be checked with the password of the session. */
export function readBindingRequest(bytes: Buffer): BindingRequest | undefined {
  if (bytes.length > maxBytes || bytes.readUInt16BE() !== bindingRequest) return undefined
  if (bytes.readUInt16BE(2) !== bytes.length - headerBytes) return undefined
  let username: string | undefined
  let useCandidate = false
  for (let at = headerBytes; at + 4 <= bytes.length; ) {
    const type = bytes.readUInt16BE(at)
    const length = bytes.readUInt16BE(at + 2)
    const end = at + 4 + length
    if (end > bytes.length) return undefined
    if (type === attribute.username) username = bytes.toString('latin1', at + 4, end)
    if (type === attribute.useCandidate) useCandidate = true
    if (type === attribute.integrity) {
      if (username === undefined || length !== integrityBytes) return undefined
      const transaction = bytes.subarray(8, headerBytes)
      return { username, useCandidate, transaction, bytes, integrityAt: at }
    }
    at = end + ((4 - (length % 4)) % 4)
  }
  return undefined
}

export function hasIntegrity({ bytes, integrityAt }: BindingRequest, password: string): boolean {
  const content = Buffer.from(bytes.subarray(0, integrityAt))
  // RFC 8489, 14.5: the length as if the message ended with this attribute.
  content.writeUInt16BE(integrityAt + 4 + integrityBytes - headerBytes, 2)
  const expected = createHmac('sha1', password).update(content).digest()
  return timingSafeEqual(expected, bytes.subarray(integrityAt + 4, integrityAt + 4 + integrityBytes))
}

/** The answer: from which address the request came. It is shorter than the request with the attributes of ICE. */
export function writeBindingResponse(transaction: Buffer, from: Address, password: string): Buffer {
  const address = writeMappedAddress(from, transaction)
  const header = Buffer.alloc(headerBytes)
  header.writeUInt16BE(bindingResponse)
  header.writeUInt32BE(cookie, 4)
  transaction.copy(header, 8)
  const length = address.length + 4 + integrityBytes
  header.writeUInt16BE(length, 2)
  const mac = createHmac('sha1', password).update(header).update(address).digest()
  const content = Buffer.concat([header, address, attributeHead(attribute.integrity, integrityBytes), mac])
  content.writeUInt16BE(length + 8, 2)
  const fingerprint = attributeHead(attribute.fingerprint, 4, 4)
  fingerprint.writeUInt32BE((crc32(content) ^ fingerprintXor) >>> 0, 4)
  return Buffer.concat([content, fingerprint])
}

function attributeHead(type: number, length: number, space = 0): Buffer {
  const bytes = Buffer.alloc(4 + space)
  bytes.writeUInt16BE(type)
  bytes.writeUInt16BE(length, 2)
  return bytes
}

/** RFC 8489, 14.2. */
function writeMappedAddress({ address, port }: Address, transaction: Buffer): Buffer {
  const plain = address.replace(/^::ffff:(?=\d+\.)/, '')
  const ip = isIPv4(plain) ? Buffer.from(plain.split('.').map(Number)) : ipv6Bytes(plain)
  const bytes = Buffer.concat([attributeHead(attribute.mappedAddress, 4 + ip.length, 4), ip])
  bytes[5] = ip.length === 4 ? 1 : 2
  bytes.writeUInt16BE(port ^ (cookie >>> 16), 6)
  const mask = Buffer.concat([Buffer.from([0x21, 0x12, 0xa4, 0x42]), transaction])
  for (let i = 0; i < ip.length; i++) bytes[8 + i] = bytes[8 + i]! ^ mask[i]!
  return bytes
}

function ipv6Bytes(address: string): Buffer {
  const [head = '', tail] = address.replace(/%.*$/, '').split('::')
  const groups = (text: string | undefined) => (text ? text.split(':') : [])
  const [before, after] = [groups(head), groups(tail)]
  const zeros = Array(Math.max(0, 8 - before.length - after.length)).fill('0')
  const bytes = Buffer.alloc(16)
  for (const [i, group] of [...before, ...zeros, ...after].slice(0, 8).entries())
    bytes.writeUInt16BE(Number.parseInt(group, 16) & 0xffff, 2 * i)
  return bytes
}
