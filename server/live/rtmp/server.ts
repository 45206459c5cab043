import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { AmfError } from './amf0.ts'
import { RtmpError } from './chunks.ts'
import { Handshake } from './handshake.ts'
import { type PublishAnswer, RtmpSession, SessionEnded } from './session.ts'

export type RtmpServerOptions = {
  tls?: { cert: Buffer; key: Buffer } | undefined
  /** Decides about a stream key. `close` ends the connection. */
  publish(streamKey: string, connection: { remoteAddress: string; close(): void }): Promise<PublishAnswer>
  /** A connection that had published has ended. */
  onRefused(reason: string): void
}

export function createRtmpServer({ tls, publish, onRefused }: RtmpServerOptions): Server {
  const serve = (socket: Socket) => {
    socket.setNoDelay(true)
    // An error also closes the socket, which ends the loop that reads from it.
    socket.on('error', () => {})
    receive(socket, publish)
      .catch((error) => {
        if (!(error instanceof RtmpError || error instanceof AmfError || error instanceof SessionEnded))
          throw error
        onRefused(error.message)
      })
      .finally(() => socket.destroySoon())
  }
  return tls ? createTlsServer(tls, serve) : createServer(serve)
}

async function receive(socket: Socket, publish: RtmpServerOptions['publish']): Promise<void> {
  const send = (bytes: Buffer) => socket.write(bytes)
  const handshake = new Handshake()
  let session: RtmpSession | undefined
  // Reading one buffer after the other keeps the back-pressure: while a key is checked, nothing more is read.
  for await (const bytes of socket as AsyncIterable<Buffer>) {
    if (session) {
      await session.receive(bytes)
      continue
    }
    const rest = handshake.receive(bytes, send)
    if (!rest) continue
    const connection = { remoteAddress: socket.remoteAddress ?? '', close: () => void socket.destroy() }
    session = new RtmpSession({ send, publish: (key) => publish(key, connection) })
    await session.receive(rest)
  }
}
