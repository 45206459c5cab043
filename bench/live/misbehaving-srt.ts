import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { phase } from '../../server/live/ingest/srt/handshake.ts'
import { controlType, headerLength, writeControl } from '../../server/live/ingest/srt/packets.ts'
import { Caller, handshake, live, textOf } from '../../server/live/ingest/srt/test-caller.ts'

const atOnce = 50
const payloadBytes = 1_316
const packetsOfEach = 300
/** A connection whose caller has gone without a word is closed after five seconds. */
const goneMs = 8_000

const dataPacket = (destination: number, sequence: number, payload: Buffer) => {
  const packet = Buffer.concat([Buffer.alloc(headerLength), payload])
  packet.writeUInt32BE(sequence, 0)
  packet.writeUInt32BE(destination, 12)
  return packet
}

/** Packets of MPEG-TS with video, and without a table that says so. */
const withoutTable = Buffer.concat(
  Array.from({ length: payloadBytes / 188 }, () =>
    Buffer.concat([Buffer.from([0x47, 0x41, 0, 0x10]), randomBytes(184)]),
  ),
)

type Behavior = (caller: Caller, streamKey: string) => Promise<void>

const conclude = async (caller: Caller, streamId: string, wrong = 0) =>
  caller.send(
    handshake({
      phase: phase.conclusion,
      cookie: (await caller.induce()) ^ wrong,
      extensions: [live, textOf(5, streamId)],
    }),
  )

/** Sends packets after the handshake. The network may lose some, because nothing waits for them. */
const sending =
  (packetOf: (id: number, i: number) => Buffer): Behavior =>
  async (caller, streamKey) => {
    const id = await caller.connect(streamKey)
    for (let i = 0; i < packetsOfEach; i++) {
      caller.send(packetOf(id, i))
      if (i % 20 === 0) await delay(1)
    }
  }

const behaviors: Behavior[] = [
  async (caller) => {
    for (let i = 0; i < 100; i++) caller.send(handshake({ phase: phase.induction }))
  },
  (caller) => conclude(caller, 'unknown', 1),
  (caller) => conclude(caller, 'unknown'),
  (caller) => conclude(caller, 'x'.repeat(400)),
  async (caller) => {
    for (let i = 0; i < 100; i++) caller.send(randomBytes(64))
  },
  async (caller, streamKey) => void (await caller.connect(streamKey)),
  sending((id, i) => dataPacket(id, i, randomBytes(payloadBytes))),
  sending((id, i) => dataPacket(id, i, withoutTable)),
  // Every other packet is missing.
  sending((id, i) => dataPacket(id, 1 + 2 * i, randomBytes(payloadBytes))),
  sending((id, i) => {
    const body = Buffer.alloc(8)
    body.writeUInt32BE(10 * i, 0)
    body.writeUInt32BE(10 * i + 5_000, 4)
    return writeControl({ type: controlType.dropRequest, timestamp: 0, destination: id, body })
  }),
]

/** Callers that misbehave and leave without a word. Each that connects has a stream key of its own. */
export async function misbehaveOverSrt(port: number, connections: number, keys: string[]): Promise<void> {
  for (let i = 0; i < connections; i += atOnce) {
    const ends: (() => void)[] = []
    const callers = Array.from({ length: atOnce }, async (_, n) => {
      const caller = await Caller.open({ after: (end: () => void) => ends.push(end) }, port)
      await behaviors[(i + n) % behaviors.length]!(caller, keys[(i + n) % keys.length]!)
    })
    await Promise.allSettled(callers)
    for (const end of ends) end()
  }
  await delay(goneMs)
}
