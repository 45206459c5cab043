// RTCP: the reports of both sides (RFC 3550), and the requests of a receiver (RFC 4585).

const type = { senderReport: 200, receiverReport: 201, goodbye: 203, transport: 205, payload: 206 } as const
const format = { nack: 1, pictureLoss: 1, arrivals: 15 } as const
const headerBytes = 8
const senderReportBytes = 28
/** 1900 to 1970. */
const ntpEpochSeconds = 2_208_988_800

/** Ties the timestamps of a source to the clock of its machine. */
export type SenderReport = {
  ssrc: number
  /** The clock of the sender, in milliseconds. */
  ntpMs: number
  /** The middle 32 bits of the clock, which are sent back. */
  ntpMiddle: number
  timestamp: number
}

export type RtcpMessage = { kind: 'sender'; report: SenderReport } | { kind: 'goodbye'; ssrcs: number[] }

/** The messages of a compound packet that matter to a receiver. */
export function readRtcp(packet: Buffer): RtcpMessage[] {
  const messages: RtcpMessage[] = []
  for (let at = 0; at + 4 <= packet.length; ) {
    const end = at + 4 + 4 * packet.readUInt16BE(at + 2)
    if (end > packet.length) break
    const kind = packet[at + 1]
    if (kind === type.senderReport && end - at >= senderReportBytes) {
      const seconds = packet.readUInt32BE(at + 8)
      const fraction = packet.readUInt32BE(at + 12)
      messages.push({
        kind: 'sender',
        report: {
          ssrc: packet.readUInt32BE(at + 4),
          ntpMs: (seconds - ntpEpochSeconds) * 1000 + (fraction * 1000) / 2 ** 32,
          ntpMiddle: packet.readUInt32BE(at + 10),
          timestamp: packet.readUInt32BE(at + 16),
        },
      })
    }
    if (kind === type.goodbye) {
      const count = Math.min(packet[at]! & 31, Math.floor((end - at - 4) / 4))
      const ssrcs = Array.from({ length: count }, (_, i) => packet.readUInt32BE(at + 4 + 4 * i))
      messages.push({ kind: 'goodbye', ssrcs })
    }
    at = end
  }
  return messages
}

function message(count: number, kind: number, ours: number, body: Buffer): Buffer {
  const bytes = Buffer.alloc(headerBytes + body.length)
  bytes[0] = 0x80 | count
  bytes[1] = kind
  bytes.writeUInt16BE(bytes.length / 4 - 1, 2)
  bytes.writeUInt32BE(ours, 4)
  body.copy(bytes, headerBytes)
  return bytes
}

/** What was received of a source. */
export type ReceptionReport = {
  ssrc: number
  /** Of those since the last report, as a fraction of 256. */
  fractionLost: number
  lost: number
  highestSequence: number
  jitter: number
  /** Of the last report of the sender, and the time since then in 1/65536 s. */
  lastReport: number
  delay: number
}

export function writeReceiverReport(ours: number, reports: ReceptionReport[]): Buffer {
  const blocks = reports.map(({ ssrc, fractionLost, lost, highestSequence, jitter, lastReport, delay }) => {
    const block = Buffer.alloc(24)
    block.writeUInt32BE(ssrc)
    block[4] = fractionLost
    block.writeUIntBE(Math.min(0x7fffff, Math.max(0, lost)), 5, 3)
    block.writeUInt32BE(highestSequence >>> 0, 8)
    block.writeUInt32BE(Math.round(jitter) >>> 0, 12)
    block.writeUInt32BE(lastReport >>> 0, 16)
    block.writeUInt32BE(delay >>> 0, 20)
    return block
  })
  return message(blocks.length, type.receiverReport, ours, Buffer.concat(blocks))
}

/** Asks for a key frame. */
export function writePictureLoss(ours: number, ssrc: number): Buffer {
  const body = Buffer.alloc(4)
  body.writeUInt32BE(ssrc)
  return message(format.pictureLoss, type.payload, ours, body)
}

/** Asks for packets again. The numbers are in increasing order. */
export function writeNack(ours: number, ssrc: number, sequences: number[]): Buffer {
  const pairs: { first: number; mask: number }[] = []
  for (const sequence of sequences) {
    const last = pairs.at(-1)
    const distance = last ? (sequence - last.first) & 0xffff : 0
    if (last && distance >= 1 && distance <= 16) last.mask |= 1 << (distance - 1)
    else pairs.push({ first: sequence, mask: 0 })
  }
  const body = Buffer.alloc(4 + 4 * pairs.length)
  body.writeUInt32BE(ssrc)
  for (const [i, { first, mask }] of pairs.entries()) {
    body.writeUInt16BE(first, 4 + 4 * i)
    body.writeUInt16BE(mask, 6 + 4 * i)
  }
  return message(format.nack, type.transport, ours, body)
}

/** When packets arrived, in microseconds, by their numbers in increasing order without gaps. Undefined: not yet. */
export type Arrivals = { first: number; times: (number | undefined)[]; count: number }

const tickUs = 250
const referenceUs = 64_000

/**
 * The report from which a browser learns how fast it can send (draft-holmer-rmcat-transport-wide-cc-extensions-01). All
 * packets are listed by chunks of seven symbols.
 */
export function writeArrivals(ours: number, ssrc: number, { first, times, count }: Arrivals): Buffer {
  const start = times.find((time) => time !== undefined) ?? 0
  const reference = Math.floor(start / referenceUs)
  let last = reference * referenceUs
  const deltas: Buffer[] = []
  const symbols = times.map((time) => {
    if (time === undefined) return 0
    const ticks = Math.max(-0x8000, Math.min(0x7fff, Math.round((time - last) / tickUs)))
    last += ticks * tickUs
    const isSmall = ticks >= 0 && ticks <= 255
    const delta = Buffer.alloc(isSmall ? 1 : 2)
    if (isSmall) delta[0] = ticks
    else delta.writeInt16BE(ticks)
    deltas.push(delta)
    return isSmall ? 1 : 2
  })
  const chunks = Buffer.alloc(2 * Math.ceil(symbols.length / 7))
  for (let i = 0; i < symbols.length; i += 7) {
    let chunk = 0xc000
    for (let j = 0; j < 7; j++) chunk |= (symbols[i + j] ?? 0) << (2 * (6 - j))
    chunks.writeUInt16BE(chunk, (2 * i) / 7)
  }
  const head = Buffer.alloc(12)
  head.writeUInt32BE(ssrc)
  head.writeUInt16BE(first & 0xffff, 4)
  head.writeUInt16BE(times.length, 6)
  head.writeUIntBE(reference & 0xffffff, 8, 3)
  head[11] = count & 255
  const body = Buffer.concat([head, chunks, ...deltas])
  const padding = Buffer.alloc((4 - (body.length % 4)) % 4)
  return message(format.arrivals, type.transport, ours, Buffer.concat([body, padding]))
}
