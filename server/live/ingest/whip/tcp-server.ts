import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { PendingConnections } from '../rtmp/pending-connections.ts'

/** The other side of a path that ICE may choose. */
export type Peer = {
  key: string
  address: string
  port: number
  send(bytes: Buffer): void
  /** It is of no use any more. */
  close(): void
}

type Options = {
  host: string
  port: number
  /** Returns whether the peer is that of an encoder. */
  onDatagram(bytes: Buffer, from: Peer): boolean
  onError(error: unknown): void
}

export type TcpServer = { port: number; close(): void }

const lengthBytes = 2
/** What an encoder does not read is not kept for it. */
const maxQueuedBytes = 256 * 1024
/** Encoders repeat the check of a path every few seconds, also while they send nothing else. */
const maxSilentMs = 60_000

/** ICE over TCP (RFC 6544), for networks that block UDP. Encoders connect. Each datagram follows its length (RFC 4571). */
export async function listenForTcp({ host, port, onDatagram, onError }: Options): Promise<TcpServer> {
  const pending = new PendingConnections()
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, (socket) => {
    pending.add(socket)
    sockets.add(socket)
    const address = socket.remoteAddress ?? ''
    const remotePort = socket.remotePort ?? 0
    const peer: Peer = {
      key: `tcp ${address} ${remotePort}`,
      address,
      port: remotePort,
      send: (bytes) => sendFrame(socket, bytes),
      // The last datagram is still sent.
      close: () => socket.destroySoon(),
    }
    const reader = new FrameReader()
    // An error also closes the socket.
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.setTimeout(maxSilentMs, () => socket.destroy())
    socket.on('data', (bytes) => {
      for (const frame of reader.read(bytes)) if (onDatagram(frame, peer)) pending.remove(socket)
    })
  })
  server.listen(port, host)
  await once(server, 'listening')
  server.on('error', onError)
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close()
      for (const socket of sockets) socket.destroySoon()
    },
  }
}

function sendFrame(socket: Socket, bytes: Buffer): void {
  if (socket.destroyed) return
  const length = Buffer.alloc(lengthBytes)
  length.writeUInt16BE(bytes.length)
  socket.write(Buffer.concat([length, bytes]))
  if (socket.writableLength > maxQueuedBytes) socket.destroy()
}

/** Divides a stream into frames of at most 64 KB. */
class FrameReader {
  #rest: Buffer = Buffer.alloc(0)

  read(bytes: Buffer): Buffer[] {
    const data = this.#rest.length > 0 ? Buffer.concat([this.#rest, bytes]) : bytes
    const frames: Buffer[] = []
    let at = 0
    while (data.length - at >= lengthBytes) {
      const end = at + lengthBytes + data.readUInt16BE(at)
      if (end > data.length) break
      frames.push(data.subarray(at + lengthBytes, end))
      at = end
    }
    // A copy, which does not keep the rest of the bytes in memory.
    this.#rest = Buffer.from(data.subarray(at))
    return frames
  }
}
