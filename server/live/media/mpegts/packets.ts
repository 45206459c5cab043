// The transport packets of MPEG-TS (ISO/IEC 13818-1).

const packetLength = 188
const syncByte = 0x47

export type TsPacket = {
  pid: number
  /** A section or a PES packet begins. */
  isStart: boolean
  /** Packets of this PID are missing before this one. */
  hasGap: boolean
  /** The payload is a part of these bytes. A view of it would take longer than copying it. */
  bytes: Buffer
  start: number
  end: number
}

/** Divides a stream of bytes into packets, and finds their beginning again after bytes that are none. */
export class PacketReader {
  readonly #counters = new Map<number, number>()
  #rest: Buffer = Buffer.alloc(0)

  read(bytes: Buffer, onPacket: (packet: TsPacket) => void): void {
    const buffer = this.#rest.length > 0 ? Buffer.concat([this.#rest, bytes]) : bytes
    let at = 0
    while (buffer.length - at >= packetLength) {
      if (isPacketStart(buffer, at)) {
        this.#readPacket(buffer, at, onPacket)
        at += packetLength
      } else at = findPacketStart(buffer, at + 1)
    }
    this.#rest = at === buffer.length ? noBytes : Buffer.from(buffer.subarray(at))
  }

  #readPacket(bytes: Buffer, at: number, onPacket: (packet: TsPacket) => void): void {
    const [second, control] = [bytes[at + 1]!, bytes[at + 3]!]
    const pid = ((second & 0x1f) << 8) | bytes[at + 2]!
    const [hasError, isStart] = [(second & 0x80) !== 0, (second & 0x40) !== 0]
    const isScrambled = control >> 6 !== 0
    const hasPayload = (control & 0x10) !== 0
    if (pid === nullPid || hasError || isScrambled || !hasPayload) return
    const counter = control & 15
    const before = this.#counters.get(pid)
    // A packet may be sent twice.
    if (counter === before) return
    const hasAdaptation = (control & 0x20) !== 0
    const adaptationLength = hasAdaptation ? bytes[at + 4]! : 0
    const start = at + (hasAdaptation ? 5 + adaptationLength : 4)
    const end = at + packetLength
    if (start >= end) return
    const isDiscontinuous = adaptationLength > 0 && (bytes[at + 5]! & 0x80) !== 0
    this.#counters.set(pid, counter)
    const hasGap = before !== undefined && counter !== ((before + 1) & 15) && !isDiscontinuous
    onPacket({ pid, isStart, hasGap, bytes, start, end })
  }
}

const nullPid = 0x1fff
const noBytes = Buffer.alloc(0)

/** Whether another packet follows, as far as it was received. */
const isPacketStart = (buffer: Buffer, at: number) =>
  buffer[at] === syncByte && (buffer[at + packetLength] ?? syncByte) === syncByte

function findPacketStart(buffer: Buffer, from: number): number {
  for (let at = buffer.indexOf(syncByte, from); at >= 0; at = buffer.indexOf(syncByte, at + 1))
    if (isPacketStart(buffer, at)) return at
  return buffer.length
}
