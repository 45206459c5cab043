import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'
import { newId, randomWord } from '../../../lib/ids.ts'
import type { Log } from '../../../lib/log.ts'
import type { CertificateAndKey } from '../../../lib/tls-certificate.ts'
import type { Tools } from '../../../media/ffmpeg.ts'
import { DtlsContext } from '../../webrtc/dtls.ts'
import { readOffer, writeAnswer } from '../../webrtc/sdp.ts'
import { isStun, readBindingRequest } from '../../webrtc/stun.ts'
import type { IngestServer, Publish } from '../publisher.ts'
import { type Reachable, writeCandidates } from './candidates.ts'
import { WhipSession } from './session.ts'
import { listenForTcp, type Peer, type TcpServer } from './tcp-server.ts'

const tickMs = 20
/** More encoders may be connected. */
const maxConnecting = 100
const maxConnectingOfStream = 4
/** A phone changes its address when it changes its network. */
const maxPeers = 16
const maxBitRate = 12_000_000
const receiveBufferBytes = 4 * 1024 * 1024
/** An encoder that returns this soon is the same one, whose connection is dead. */
const replacedMs = 2_000

type Options = Reachable & {
  port: number
  /** Undefined: only over UDP. */
  tcpPort: number | undefined
  certificate: CertificateAndKey
  tools: Pick<Tools, 'ffmpeg'>
  log: Log
  publish: Publish
  onRefused(reason: string): void
  onError(error: unknown): void
}

export type WhipAnswer = { sessionId: string; sdp: string }

/** Receives encoders over WebRTC, all on one UDP port. They are introduced by an offer over HTTP. */
export class WhipServer implements IngestServer {
  /** The end of the ids of its sessions, by which other processes find it. */
  readonly id = randomWord(10)
  readonly port: number
  readonly #options: Options
  readonly #socket: Socket
  readonly #dtls: DtlsContext
  readonly #sessions = new Map<string, WhipSession>()
  readonly #byUfrag = new Map<string, WhipSession>()
  readonly #byPeer = new Map<string, WhipSession>()
  readonly #timer: NodeJS.Timeout
  #tcp: TcpServer | undefined
  #isClosing = false

  private constructor(options: Options, socket: Socket, dtls: DtlsContext) {
    this.#options = options
    this.#socket = socket
    this.#dtls = dtls
    this.port = socket.address().port
    socket.on('message', (bytes, from) => void this.#receive(bytes, from))
    socket.on('error', options.onError)
    this.#timer = setInterval(() => this.#tick(), tickMs)
  }

  /** Undefined on a system where the OpenSSL of Node cannot be called. */
  static async open(options: Options): Promise<WhipServer | undefined> {
    const { host, port, certificate } = options
    const dtls = await DtlsContext.open(certificate)
    if (!dtls) return undefined
    const socket = createSocket({
      type: isIPv6(host) ? 'udp6' : 'udp4',
      recvBufferSize: receiveBufferBytes,
    })
    socket.bind(port, host)
    await once(socket, 'listening')
    const server = new WhipServer(options, socket, dtls)
    try {
      await server.#listenForTcp()
    } catch (error) {
      server.close()
      throw error
    }
    return server
  }

  async #listenForTcp(): Promise<void> {
    const { host, tcpPort: port } = this.#options
    if (port === undefined) return
    const onDatagram = (bytes: Buffer, from: Peer) => this.#receiveTcp(bytes, from)
    this.#tcp = await listenForTcp({ host, port, onDatagram })
  }

  /** Rejects with `SdpError`. Undefined if too many encoders are connecting. */
  async offer(streamKey: string, sdp: string): Promise<WhipAnswer | undefined> {
    const offer = readOffer(sdp)
    const candidates = await writeCandidates(this.#options, { udp: this.port, tcp: this.#tcp?.port })
    const connecting = [...this.#sessions.values()].filter(({ isConnected }) => !isConnected)
    const ofStream = connecting.filter((session) => session.streamKey === streamKey)
    const isFull = connecting.length >= maxConnecting || ofStream.length >= maxConnectingOfStream
    if (this.#isClosing || isFull) return undefined
    for (const session of this.#sessions.values())
      if (session.streamKey === streamKey && session.isConnected && session.silentMs > replacedMs)
        session.close()
    const { log, tools, publish, onRefused, onError } = this.#options
    const session: WhipSession = new WhipSession({
      id: `${newId('ws')}-${this.id}`,
      offer,
      streamKey,
      dtls: this.#dtls,
      tools,
      log,
      publish,
      onEnded: (reason) => {
        this.#remove(session)
        if (reason) onRefused(reason)
      },
      onError,
    })
    this.#sessions.set(session.id, session)
    this.#byUfrag.set(session.ufrag, session)
    const { ufrag, password } = session
    const { fingerprint } = this.#dtls
    return {
      sessionId: session.id,
      sdp: writeAnswer(offer, { ufrag, password, fingerprint, candidates, maxBitRate }),
    }
  }

  /** False if there is no such session. */
  end(sessionId: string): boolean {
    const session = this.#sessions.get(sessionId)
    session?.close()
    return session !== undefined
  }

  has(sessionId: string): boolean {
    return this.#sessions.has(sessionId)
  }

  close(): void {
    this.#isClosing = true
    for (const session of this.#sessions.values()) if (!session.isConnected) session.close()
    this.#closeSocket()
  }

  #receive(bytes: Buffer, { address, port }: RemoteInfo): void {
    const key = `${address} ${port}`
    if (isStun(bytes)) {
      const send = (answer: Buffer) => this.#socket.send(answer, port, address, () => {})
      this.#check(bytes, { key, address, port, send })
    } else {
      this.#byPeer.get(key)?.receive(bytes, performance.now())
    }
  }

  #receiveTcp(bytes: Buffer, from: Peer): boolean {
    if (isStun(bytes)) this.#check(bytes, from)
    else this.#byPeer.get(from.key)?.receive(bytes, performance.now())
    return this.#byPeer.has(from.key)
  }

  #check(bytes: Buffer, from: Peer): void {
    const request = readBindingRequest(bytes)
    const [ufrag = ''] = request?.username.split(':') ?? []
    const session = this.#byUfrag.get(ufrag)
    if (!request || !session?.check(request, from) || this.#byPeer.get(from.key) === session) return
    const known = [...this.#byPeer].filter(([, each]) => each === session)
    if (known.length >= maxPeers) this.#byPeer.delete(known[0]![0])
    this.#byPeer.set(from.key, session)
  }

  #tick(): void {
    const nowMs = performance.now()
    for (const session of this.#sessions.values()) session.tick(nowMs)
  }

  #remove(session: WhipSession): void {
    this.#sessions.delete(session.id)
    this.#byUfrag.delete(session.ufrag)
    for (const [key, each] of this.#byPeer) if (each === session) this.#byPeer.delete(key)
    this.#closeSocket()
  }

  /** Once nobody needs it any more. */
  #closeSocket(): void {
    if (!this.#isClosing || this.#sessions.size > 0) return
    clearInterval(this.#timer)
    // The last datagrams are still being sent.
    setImmediate(() => {
      try {
        this.#socket.close()
        this.#tcp?.close()
        this.#dtls.close()
      } catch {
        // It is closed already.
      }
    })
  }
}
