import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type Handshake, phase, readHandshake } from '../../server/live/ingest/srt/handshake.ts'
import { controlType, headerLength, writeControl } from '../../server/live/ingest/srt/packets.ts'
import { Caller, handshake, live, textOf } from '../../server/live/ingest/srt/test-caller.ts'

const atOnce = 50
const payloadBytes = 1_316
const packetsOfEach = 300
const repeatMs = 250
const maxTries = 40
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

/** Repeats a handshake until it is answered, as encoders do: packets are lost while the service is busy with others. */
async function ask(
  caller: Caller,
  packet: Buffer,
  wanted: (answer: Handshake) => boolean,
): Promise<Handshake> {
  for (let tries = 0; tries < maxTries; tries++) {
    caller.send(packet)
    await delay(repeatMs)
    for (const received of caller.received.splice(0)) {
      const answer = readHandshake(received)
      if (answer && wanted(answer)) return answer
    }
  }
  throw new Error('the service does not answer')
}

async function connect(caller: Caller, streamId: string): Promise<number> {
  const induction = await ask(
    caller,
    handshake({ phase: phase.induction }),
    (each) => each.phase === phase.induction,
  )
  const extensions = [live, textOf(5, streamId)]
  const conclusion = handshake({ phase: phase.conclusion, cookie: induction.cookie, extensions })
  return (await ask(caller, conclusion, (each) => each.phase !== phase.induction)).socketId
}

/** Sends packets after the handshake. The network may lose some, because nothing waits for them. */
const sending =
  (packetOf: (id: number, i: number) => Buffer): Behavior =>
  async (caller, streamKey) => {
    const id = await connect(caller, streamKey)
    for (let i = 0; i < packetsOfEach; i++) {
      caller.send(packetOf(id, i))
      if (i % 20 === 0) await delay(1)
    }
  }

const behaviors: Behavior[] = [
  async (caller) => {
    for (let i = 0; i < 100; i++) caller.send(handshake({ phase: phase.induction }))
  },
  async (caller) => caller.send(handshake({ phase: phase.conclusion, cookie: 1, extensions: [live] })),
  async (caller) => void (await connect(caller, 'unknown')),
  async (caller) => void (await connect(caller, 'x'.repeat(400))),
  async (caller) => {
    for (let i = 0; i < 100; i++) caller.send(randomBytes(64))
  },
  async (caller, streamKey) => void (await connect(caller, streamKey)),
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
