import { Server, Socket, type SocketConstructorOpts } from 'node:net'

/**
 * All connections receive into this buffer, one after the other. Node would otherwise create a buffer for each frame, and
 * the garbage collector would need more time than everything else.
 */
const buffer = Buffer.allocUnsafeSlow(256 * 1024)

/** A server whose sockets emit 'data' with bytes that are overwritten afterwards. */
export class SharedBufferServer extends Server {
  constructor() {
    super({ pauseOnConnect: true })
  }

  override emit(event: string, ...args: unknown[]): boolean {
    const [socket] = args
    return event === 'connection' && socket instanceof Socket
      ? super.emit(event, withSharedBuffer(socket))
      : super.emit(event, ...args)
  }
}

type Internals = { _handle: object | null; _server: Server | null }

/**
 * Node has the option `onread` for connections that it opens, but not for those that it accepts. The handle of a socket is
 * not part of its documented API, but has been there since its first versions.
 */
function withSharedBuffer(accepted: Socket): Socket {
  const internals = accepted as unknown as Internals
  const { _handle: handle, _server: server } = internals
  if (!handle) return accepted
  const callback = (length: number) => socket.emit('data', buffer.subarray(0, length))
  const options = { handle, onread: { buffer, callback } } as SocketConstructorOpts
  const socket: Socket = new Socket(options)
  // The server counts its open connections, and the new socket tells when it is closed.
  Object.assign(socket, { _server: server })
  internals._handle = null
  internals._server = null
  return socket
}
