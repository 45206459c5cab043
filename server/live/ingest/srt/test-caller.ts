import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { until } from '../rtmp/test-server.ts'
import { phase, readHandshake } from './handshake.ts'
import { controlType, writeControl } from './packets.ts'

/** A caller that sends what a test wants. */
export class Caller {
  readonly #port: number
  readonly socket: Socket
  readonly received: Buffer[] = []

  private constructor(socket: Socket, port: number) {
    this.socket = socket
    this.#port = port
    socket.on('message', (packet) => this.received.push(packet))
  }

  static async open(t: Pick<TestContext, 'after'>, port: number): Promise<Caller> {
    const socket = createSocket('udp4')
    t.after(() => socket.close())
    const bound = once(socket, 'listening')
    socket.bind(0, '127.0.0.1')
    await bound
    return new Caller(socket, port)
  }

  send(packet: Buffer): void {
    this.socket.send(packet, this.#port, '127.0.0.1')
  }

  async receive(): Promise<Buffer> {
    await until(() => this.received.length > 0)
    return this.received.shift()!
  }

  /** Returns the cookie. */
  async induce(): Promise<number> {
    this.send(handshake({ phase: phase.induction }))
    return readHandshake(await this.receive())!.cookie
  }

  /** Connects, and returns the id of the connection. */
  async connect(streamId: string): Promise<number> {
    const cookie = await this.induce()
    this.send(handshake({ phase: phase.conclusion, cookie, extensions: [live, textOf(5, streamId)] }))
    return readHandshake(await this.receive())!.socketId
  }
}

export type Sent = { phase: number; version?: number; cookie?: number; extensions?: Buffer[] }

export function handshake({ phase, version = 5, cookie = 0, extensions = [] }: Sent): Buffer {
  const body = Buffer.alloc(48)
  body.writeUInt32BE(version, 0)
  body.writeUInt32BE(1_500, 12)
  body.writeUInt32BE(8_192, 16)
  body.writeUInt32BE(phase, 20)
  body.writeUInt32BE(77, 24)
  body.writeUInt32BE(cookie, 28)
  return writeControl({
    ...{ type: controlType.handshake, timestamp: 0, destination: 0 },
    body: Buffer.concat([body, ...extensions]),
  })
}

export function extension(type: number, content: Buffer): Buffer {
  const header = Buffer.alloc(4)
  header.writeUInt16BE(type, 0)
  header.writeUInt16BE(content.length / 4, 2)
  return Buffer.concat([header, content])
}

export const textOf = (type: number, text: string) =>
  extension(type, Buffer.from(text.padEnd(4 * Math.ceil(text.length / 4), '\0')).swap32())
export const live = extension(1, Buffer.from('000105000000003f00780078', 'hex'))
