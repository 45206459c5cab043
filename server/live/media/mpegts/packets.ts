// The transport packets of MPEG-TS (ISO/IEC 13818-1).

const packetLength = 188
const syncByte = 0x47

export type TsPacket = {
  pid: number
  /** A section or a PES packet begins. */
  isStart: boolean
  /** Packets of this PID are missing before this one. */
  hasGap: boolean
  payload: Buffer
}

/** Divides a stream of bytes into packets, and finds their beginning again after bytes that are none. */
export class PacketReader {
  readonly #counters = new Map<number, number>()
  #rest: Buffer = Buffer.alloc(0)

  /** The payloads are views of the bytes. */
  read(bytes: Buffer, onPacket: (packet: TsPacket) => void): void {
    const buffer = this.#rest.length > 0 ? Buffer.concat([this.#rest, bytes]) : bytes
    let at = 0
    while (buffer.length - at >= packetLength) {
      if (isPacketStart(buffer, at)) {
        this.#readPacket(buffer.subarray(at, at + packetLength), onPacket)
        at += packetLength
      } else at = findPacketStart(buffer, at + 1)
    }
    this.#rest = at === buffer.length ? noBytes : Buffer.from(buffer.subarray(at))
  }

  #readPacket(packet: Buffer, onPacket: (packet: TsPacket) => void): void {
    const pid = packet.readUInt16BE(1) & 0x1fff
    const [hasError, isStart] = [(packet[1]! & 0x80) !== 0, (packet[1]! & 0x40) !== 0]
    const control = packet[3]!
    const isScrambled = control >> 6 !== 0
    const hasPayload = (control & 0x10) !== 0
    if (pid === nullPid || hasError || isScrambled || !hasPayload) return
    const counter = control & 15
    const before = this.#counters.get(pid)
    // A packet may be sent twice.
    if (counter === before) return
    const hasAdaptation = (control & 0x20) !== 0
    const start = hasAdaptation ? 5 + packet[4]! : 4
    if (start >= packetLength) return
    const isDiscontinuous = hasAdaptation && packet[4]! > 0 && (packet[5]! & 0x80) !== 0
    this.#counters.set(pid, counter)
    const hasGap = before !== undefined && counter !== ((before + 1) & 15) && !isDiscontinuous
    onPacket({ pid, isStart, hasGap, payload: packet.subarray(start) })
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
