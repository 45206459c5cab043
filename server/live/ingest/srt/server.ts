import { randomInt } from 'node:crypto'
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import type { Log } from '../../../lib/log.ts'
import { networkOf } from '../../../lib/network.ts'
import type { Tools } from '../../../media/ffmpeg.ts'
import type { Connection, IngestServer, Publish, PublishAnswer, Refusal } from '../publisher.ts'
import { SrtConnection } from './connection.ts'
import { Cookies } from './cookies.ts'
import { Decryption, WrongPassphrase } from './encryption.ts'
import {
  conclusionBody,
  type Handshake,
  inductionBody,
  phase,
  type Rejection,
  readHandshake,
  readStreamId,
  readWishes,
  rejection,
  rejectionBody,
  type Wishes,
} from './handshake.ts'
import {
  controlType,
  destinationOf,
  headerLength,
  isControl,
  maxPacketBytes,
  typeOf,
  writeControl,
} from './packets.ts'
import { PendingCallers } from './pending-callers.ts'
import { windowPackets } from './receive-buffer.ts'

type ListenOptions = {
  tools: Pick<Tools, 'ffmpeg'>
  log: Log
  host: string
  port: number
  /** How long missing packets are waited for, unless the encoder wants more. */
  latencyMs: number
  publish: Publish
  /** A connection was ended because of what it sent, or because of its stream key. */
  onRefused(reason: string): void
  /** A connection was ended by an error of ours. */
  onError(error: unknown): void
}

const checkMs = 10
/** A busy machine does not check in time. Packets that have arrived meanwhile are read before the next check. */
const maxStepMs = 20
/** A caller repeats its handshake four times in a second until it is answered. */
const maxSilentChecks = 300
/** The buffer of the operating system holds what arrives while this process is busy. */
const receiveBufferBytes = 4 * 1024 * 1024
const maxLatencyMs = 10_000

/** Receives encoders over SRT, all of them on one UDP port. */
export async function listenForSrt(options: ListenOptions): Promise<IngestServer> {
  const { family } = await lookup(options.host)
  const socket = createSocket({
    type: family === 6 ? 'udp6' : 'udp4',
    recvBufferSize: receiveBufferBytes,
    // Destinations are the addresses of received packets. The default would look up each of them.
    lookup: (address, _, done) => done(null, address, family),
  })
  const listening = once(socket, 'listening')
  socket.bind({ port: options.port, address: options.host })
  await listening
  const server = new SrtServer(socket, options)
  return { port: socket.address().port, close: () => server.close() }
}

type Peer = Pick<RemoteInfo, 'address' | 'port'>

/** From the proof of its address to its end. */
type Entry = {
  peer: Peer
  key: string
  id: number
  /** Undefined while the stream key is checked. */
  connection: SrtConnection | undefined
  /** The answer to the conclusion, which the caller may not have received. */
  answer: Buffer | undefined
  hasEnded: boolean
  silentChecks: number
}

/** A conclusion, and what it asks for. */
type Caller = { packet: Buffer; handshake: Handshake; wishes: Wishes; streamKey: string }

class SrtServer {
  readonly #socket: Socket
  readonly #options: ListenOptions
  readonly #cookies = new Cookies()
  readonly #entries = new Map<number, Entry>()
  /** By address, port and id of the caller. */
  readonly #byCaller = new Map<string, Entry>()
  readonly #pending = new PendingCallers()
  #timer: NodeJS.Timeout | undefined
  #nowMs = 0
  #checkedAt = 0
  #isClosing = false
  #isClosed = false

  constructor(socket: Socket, options: ListenOptions) {
    this.#socket = socket
    this.#options = options
    socket.on('message', (packet, peer) => {
      try {
        this.#receive(packet, peer)
      } catch (error) {
        options.onError(error)
      }
    })
    socket.on('error', options.onError)
  }

  /** The socket is closed with the last connection. */
  close(): void {
    this.#isClosing = true
    this.#closeUnused()
  }

  #receive(packet: Buffer, peer: RemoteInfo): void {
    // Nobody can be answered at port 0: the address is forged.
    if (packet.length < headerLength || peer.port === 0) return
    const destination = destinationOf(packet)
    const isHandshake = isControl(packet) && typeOf(packet) === controlType.handshake
    if (isHandshake) this.#receiveHandshake(packet, peer)
    if (isHandshake || destination === 0) return
    const entry = this.#entries.get(destination)
    if (!entry?.connection || entry.peer.port !== peer.port || entry.peer.address !== peer.address) return
    if (isControl(packet)) entry.connection.receiveControl(packet)
    else entry.connection.receiveData(packet, this.#nowMs)
  }

  #receiveHandshake(packet: Buffer, { address, port }: RemoteInfo): void {
    const handshake = readHandshake(packet)
    if (!handshake || this.#isClosing) return
    const peer = { address, port }
    if (handshake.phase === phase.induction) {
      const body = inductionBody(packet, this.#cookies.create(address, port))
      this.#answer(peer, handshake, body)
    } else if (handshake.phase === phase.conclusion && this.#cookies.isValid(handshake.cookie, address, port))
      this.#conclude(packet, handshake, peer)
  }

  /** The caller has proven its address. */
  #conclude(packet: Buffer, handshake: Handshake, peer: Peer): void {
    const key = `${peer.address} ${peer.port} ${handshake.socketId}`
    const known = this.#byCaller.get(key)
    if (known) {
      known.silentChecks = 0
      if (known.answer) this.#send(known.peer, known.answer)
      return
    }
    const reject = (reason: Rejection) => {
      this.#answer(peer, handshake, rejectionBody(packet, reason))
    }
    const caller = readCaller(packet, handshake)
    const network = networkOf(peer.address)
    if ('rejected' in caller) reject(caller.rejected)
    else if (!this.#pending.add(network)) reject(rejection.tooMany)
    else {
      const entry = this.#add(peer, key)
      this.#accept(entry, caller)
        .catch((error) => {
          reject(rejection.internal)
          this.#remove(entry)
          this.#options.onError(error)
        })
        .finally(() => this.#pending.remove(network))
    }
  }

  async #accept(entry: Entry, caller: Caller): Promise<void> {
    const { packet, handshake, wishes, streamKey } = caller
    const { peer } = entry
    const keys: Keys = {}
    const connection: Connection = {
      protocol: 'srt',
      remoteAddress: peer.address,
      isClosed: () => entry.hasEnded || entry.connection?.hasEnded === true,
      close: () => (entry.connection ? entry.connection.close() : this.#remove(entry)),
      // Acknowledgements and keep-alives are sent anyway.
      probe: () => {},
      link: () => entry.connection!.link(),
    }
    const verify = (passphrase: string | null) => openKeys(wishes.keyMaterial, passphrase, keys)
    const answer = await this.#options.publish(streamKey, connection, verify)
    if ('refused' in answer) {
      this.#remove(entry)
      this.#options.onRefused(answer.refused)
      const reason = keys.rejected ?? reasons[answer.kind]
      this.#answer(peer, handshake, rejectionBody(packet, reason))
      return
    }
    this.#open(entry, caller, answer, keys.decryption)
  }

  #open(
    entry: Entry,
    { packet, handshake, wishes }: Caller,
    answer: Extract<PublishAnswer, { publisher: unknown }>,
    decryption: Decryption | undefined,
  ): void {
    const { peer } = entry
    const latencyMs = Math.min(maxLatencyMs, Math.max(this.#options.latencyMs, wishes.latencyMs))
    const onEnd = (reason: string | undefined) => {
      this.#remove(entry)
      if (reason !== undefined) this.#options.onRefused(reason)
      answer.onClose?.().catch(this.#options.onError)
    }
    const { tools, log, onError } = this.#options
    entry.connection = new SrtConnection({
      ...{ tools, log, onError },
      publisher: answer.publisher,
      peerId: handshake.socketId,
      initialSequence: handshake.initialSequence,
      latencyMs,
      decryption,
      send: (bytes) => this.#send(peer, bytes),
      onEnd,
    })
    // The caller has given up.
    if (entry.hasEnded) {
      entry.connection.close()
      return
    }
    const body = conclusionBody(packet, {
      socketId: entry.id,
      latencyMs,
      keyResponse: wishes.keyMaterial,
      maxPacketBytes,
      windowPackets,
    })
    entry.answer = this.#answer(peer, handshake, body)
  }

  #add(peer: Peer, key: string): Entry {
    let id = 0
    while (id === 0 || this.#entries.has(id)) id = randomInt(2 ** 30)
    const entry: Entry = {
      ...{ peer, key, id },
      ...{ connection: undefined, answer: undefined, hasEnded: false, silentChecks: 0 },
    }
    this.#entries.set(id, entry)
    this.#byCaller.set(key, entry)
    this.#checkedAt = performance.now()
    this.#timer ??= setInterval(() => this.#check(), checkMs)
    return entry
  }

  #remove(entry: Entry): void {
    entry.hasEnded = true
    this.#entries.delete(entry.id)
    this.#byCaller.delete(entry.key)
    if (this.#entries.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
    if (this.#isClosing) this.#closeUnused()
  }

  #closeUnused(): void {
    if (this.#entries.size > 0 || this.#isClosed) return
    this.#isClosed = true
    this.#socket.close()
  }

  #check(): void {
    const now = performance.now()
    this.#nowMs += Math.min(maxStepMs, now - this.#checkedAt)
    this.#checkedAt = now
    for (const entry of this.#entries.values()) {
      if (entry.connection) this.#checkConnection(entry.connection)
      // The key is still being checked. Without the caller, nobody wants the result.
      else if (++entry.silentChecks > maxSilentChecks) this.#remove(entry)
    }
  }

  #checkConnection(connection: SrtConnection): void {
    try {
      connection.check(this.#nowMs)
    } catch (error) {
      this.#options.onError(error)
      connection.close()
    }
  }

  /** Sends a handshake, and returns it. */
  #answer(peer: Peer, { socketId: destination }: Handshake, body: Buffer): Buffer {
    const packet = writeControl({ type: controlType.handshake, timestamp: 0, destination, body })
    this.#send(peer, packet)
    return packet
  }

  #send({ address, port }: Peer, packet: Buffer): void {
    // An unreachable caller is no error of ours.
    if (!this.#isClosed) this.#socket.send(packet, port, address, () => {})
  }
}

const reasons: Record<Refusal, Rejection> = {
  unauthorized: rejection.unauthorized,
  occupied: rejection.conflict,
  closing: rejection.unavailable,
}

function readCaller(packet: Buffer, handshake: Handshake): Caller | { rejected: Rejection } {
  if (handshake.version !== 5) return { rejected: rejection.version }
  const wishes = readWishes(packet)
  if ('rejected' in wishes) return wishes
  const stream = readStreamId(wishes.streamId)
  return 'rejected' in stream ? stream : { ...stream, handshake, wishes, packet }
}

type Keys = { decryption?: Decryption; rejected?: Rejection }

/** Returns why the caller is refused. */
async function openKeys(
  keyMaterial: Buffer | undefined,
  passphrase: string | null,
  keys: Keys,
): Promise<string | undefined> {
  if (passphrase === null && !keyMaterial) return undefined
  if (passphrase === null) {
    keys.rejected = rejection.passphrase
    return 'The encoder has a passphrase, and the live stream has none.'
  }
  if (!keyMaterial) {
    keys.rejected = rejection.passphraseMissing
    return 'The encoder has no passphrase.'
  }
  try {
    const decryption = new Decryption(passphrase)
    await decryption.addKeys(keyMaterial)
    keys.decryption = decryption
    return undefined
  } catch (error) {
    if (!(error instanceof WrongPassphrase)) throw error
    keys.rejected = rejection.passphrase
    return error.message
  }
}
