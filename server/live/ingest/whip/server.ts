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
import type { Admit, IngestServer, Publish, Refused } from '../publisher.ts'
import { type Reachable, writeCandidates } from './candidates.ts'
import { findEvicted } from './places.ts'
import { WhipSession } from './session.ts'
import { listenForTcp, type Peer, type TcpServer } from './tcp-server.ts'

const tickMs = 20
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
  admit: Admit
  publish: Publish
  onRefused(reason: string): void
  onError(error: unknown): void
}

export type WhipAnswer = { sessionId: string; sdp: string }

const closing = { refused: 'The server is shutting down.', kind: 'closing' } as const

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
  readonly #byPeer = new Map<string, { session: WhipSession; peer: Peer }>()
  readonly #timer: NodeJS.Timeout
  #tcp: TcpServer | undefined
  #isClosing = false

  private constructor(options: Options, socket: Socket, dtls: DtlsContext) {
    this.#options = options
    this.#socket = socket
    this.#dtls = dtls
    this.port = socket.address().port
    socket.on('message', (bytes, from) => this.#receive(bytes, from))
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
    this.#tcp = await listenForTcp({ host, port, onDatagram, onError: this.#options.onError })
  }

  /** Rejects with `SdpError`. */
  async offer(streamKey: string, sdp: string): Promise<WhipAnswer | Refused> {
    const offer = readOffer(sdp)
    const candidates = await writeCandidates(this.#options, { udp: this.port, tcp: this.#tcp?.port })
    for (const session of this.#sessions.values())
      if (session.streamKey === streamKey && session.isConnected && session.silentMs > replacedMs)
        session.close()
    const admission = await this.#options.admit(streamKey)
    if ('refused' in admission) return admission
    if (this.#isClosing) return closing
    const connecting = [...this.#sessions.values()].filter(({ isPublishing }) => !isPublishing)
    findEvicted(connecting, streamKey)?.close()
    const { log, tools, publish, onRefused, onError } = this.#options
    const session: WhipSession = new WhipSession({
      id: `${newId('ws')}-${this.id}`,
      offer,
      streamKey,
      environment: admission.environment,
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
    // Nobody can be answered there: the address is forged.
    if (port === 0) return
    const send = (answer: Buffer) => this.#socket.send(answer, port, address, () => {})
    this.#dispatch(bytes, { key: `${address} ${port}`, address, port, send, close() {} })
  }

  #receiveTcp(bytes: Buffer, from: Peer): boolean {
    this.#dispatch(bytes, from)
    return this.#byPeer.has(from.key)
  }

  #dispatch(bytes: Buffer, from: Peer): void {
    const session = this.#byPeer.get(from.key)?.session
    if (isStun(bytes)) this.#guard(session, () => this.#check(bytes, from))
    else if (session) this.#guard(session, () => session.receive(bytes, performance.now()))
  }

  /** An error of ours ends one session, and not the process with all others. */
  #guard(session: WhipSession | undefined, work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#options.onError(error)
      session?.close()
    }
  }

  #check(bytes: Buffer, from: Peer): void {
    const request = readBindingRequest(bytes)
    const [ufrag = ''] = request?.username.split(':') ?? []
    const session = this.#byUfrag.get(ufrag)
    const known = this.#byPeer.get(from.key)
    if (!request || !session?.check(request, from) || known?.session === session) return
    const [oldest, ...others] = [...this.#byPeer.values()].filter((each) => each.session === session)
    if (oldest && others.length + 1 >= maxPeers) this.#forget(oldest.peer)
    this.#byPeer.set(from.key, { session, peer: from })
  }

  #forget(peer: Peer): void {
    this.#byPeer.delete(peer.key)
    peer.close()
  }

  #tick(): void {
    const nowMs = performance.now()
    for (const session of this.#sessions.values()) this.#guard(session, () => session.tick(nowMs))
  }

  #remove(session: WhipSession): void {
    this.#sessions.delete(session.id)
    this.#byUfrag.delete(session.ufrag)
    for (const each of [...this.#byPeer.values()]) if (each.session === session) this.#forget(each.peer)
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
