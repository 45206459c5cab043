import { readSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Sent through memory each time that the connection takes no more, to learn when it does again. */
const pieceBytes = 64 * 1024

type SendFile = (to: number, from: number, offset: BigInt64Array, count: number) => number

/** Of Linux: the kernel hands a file to a connection by itself. Node has no call for it. */
const callKernel = await load()
const offset = new BigInt64Array(1)

async function load(): Promise<SendFile | undefined> {
  if (process.platform !== 'linux') return undefined
  try {
    const { default: koffi } = await import('koffi')
    // What the program itself is linked with, whichever C library that is.
    return koffi.load(null).func('long sendfile(int to, int from, void *offset, size_t count)') as SendFile
  } catch {
    // There is no build of koffi for this machine.
    return undefined
  }
}

export const canSendFiles = callKernel !== undefined

/** The descriptor is not part of what Node documents; it is where it was since Node's first versions. */
const descriptorOf = (socket: Socket | null): number =>
  (socket as unknown as { _handle?: { fd?: number } } | null)?._handle?.fd ?? -1

/** Not where bytes are encrypted on the way, nor where an answer has to wait for the one before it. */
export const takesFile = ({ socket }: ServerResponse): boolean =>
  canSendFiles && socket?.writable === true && !('encrypted' in socket) && descriptorOf(socket) >= 0

/**
 * Sends part of an open file, which must be as long as that, as the whole body of an answer and ends it. A read from a
 * slow disk would hold up everything else here: the file is to be one that was read just before.
 */
export function sendFile(response: ServerResponse, file: number, from: number, length: number): void {
  const socket = response.socket as Socket
  const end = from + length
  let at = from

  const goOn = (): void => {
    try {
      // A connection that the client has half closed is ended by Node.
      if (!socket.writable) socket.destroy()
      // The head, or a piece, is still on its way.
      else if (socket.writableLength > 0) socket.write('', goOn)
      else if (sendAll()) response.end()
      else sendPiece()
    } catch {
      // The disk: half of the answer has been sent, so all that can be told is that it ends here.
      socket.destroy()
    }
  }

  const sendAll = (): boolean => {
    while (at < end) {
      offset[0] = BigInt(at)
      const sent = (callKernel as SendFile)(descriptorOf(socket), file, offset, end - at)
      if (sent <= 0) return false
      at += sent
    }
    return true
  }

  const sendPiece = (): void => {
    const piece = Buffer.allocUnsafe(Math.min(pieceBytes, end - at))
    const length = readSync(file, piece, 0, piece.length, at)
    at += length
    // What would follow on the connection would be taken for the rest of the file.
    if (length === 0) return void socket.destroy()
    socket.write(piece.subarray(0, length), goOn)
  }

  response.flushHeaders()
  goOn()
}
