import { readSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** When the connection is full, this many bytes go through memory: Node reports when they have been sent. */
const blockBytes = 64 * 1024

type Kernel = {
  sendFile(to: number, from: number, offset: BigInt64Array, count: number): number
  setOption(socket: number, level: number, option: number, value: Int32Array, bytes: number): number
}

/** On Linux, the kernel can copy a file to a connection without this process. Node has no API for it. */
const kernel = await load()
const offset = new BigInt64Array(1)

async function load(): Promise<Kernel | undefined> {
  if (process.platform !== 'linux') return undefined
  try {
    const { default: koffi } = await import('koffi')
    // The C library that this process is linked with.
    const library = koffi.load(null)
    return {
      sendFile: library.func('long sendfile(int to, int from, void *offset, size_t count)'),
      setOption: library.func('int setsockopt(int socket, int level, int option, void *value, uint bytes)'),
    }
  } catch {
    // koffi has no build for this machine.
    return undefined
  }
}

const hasSendFile = kernel !== undefined

const tcp = 6
const corkOption = 3
const [off, on] = [Int32Array.of(0), Int32Array.of(1)]

/** While a connection is corked, the kernel sends only full packets: the headers go with the beginning of the file. */
const setCork = (socket: Socket, value: Int32Array) =>
  kernel?.setOption(descriptorOf(socket), tcp, corkOption, value, value.byteLength)

/** The descriptor is not part of Node's documented API, but has been there since its first versions. */
const descriptorOf = (socket: Socket | null): number =>
  (socket as unknown as { _handle?: { fd?: number } } | null)?._handle?.fd ?? -1

/** False for encrypted connections, and for a response that waits for an earlier one on the same connection. */
export const canSendFile = ({ socket }: ServerResponse): boolean =>
  hasSendFile && socket?.writable === true && !('encrypted' in socket) && descriptorOf(socket) >= 0

/**
 * Sends a range of an open file as the body of a response, and ends the response. The file must contain the range, and
 * must be in the page cache: the calls are synchronous, so a read from a slow disk would block the process. `onSent` is
 * called with each number of bytes that was sent.
 */
export function sendFile(
  response: ServerResponse,
  file: number,
  from: number,
  length: number,
  onSent: (bytes: number) => void,
): void {
  const socket = response.socket as Socket
  const end = from + length
  let at = from

  const proceed = (): void => {
    try {
      // Node ends a connection that the client has half closed.
      if (!socket.writable) socket.destroy()
      // The headers or a block are still being sent.
      else if (socket.writableLength > 0) socket.write('', proceed)
      else if (sendAll()) response.end()
      else sendBlock()
    } catch {
      // A read error. The headers have been sent, so the only way to report it is to close the connection.
      socket.destroy()
    }
  }

  const sendAll = (): boolean => {
    while (at < end) {
      offset[0] = BigInt(at)
      const sent = kernel!.sendFile(descriptorOf(socket), file, offset, end - at)
      if (sent <= 0) return false
      at += sent
      onSent(sent)
    }
    return true
  }

  const sendBlock = (): void => {
    const block = Buffer.allocUnsafe(Math.min(blockBytes, end - at))
    const length = readSync(file, block, 0, block.length, at)
    at += length
    // The file is too short. The client would take the next response for the rest of the file.
    if (length === 0) return void socket.destroy()
    onSent(length)
    socket.write(block.subarray(0, length), proceed)
  }

  setCork(socket, on)
  response.flushHeaders()
  proceed()
  setCork(socket, off)
}
