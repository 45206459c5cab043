import { X509Certificate } from 'node:crypto'
import type { CertificateAndKey } from '../../lib/tls-certificate.ts'
import { type OpenSsl, openSsl } from './open-ssl.ts'

// DTLS 1.2 (RFC 6347) for WebRTC. Node does not offer it, but its OpenSSL has it.

/** Fits into every network with the headers of UDP and IPv6. */
const maxDatagram = 1_200
const recordHeaderBytes = 13
const keyBytes = 16
const saltBytes = 14
/** A flight of the server has less than 2 KB. */
const maxPendingBytes = 16 * 1024

/** The keys of SRTP for one direction. */
export type SrtpKeys = { key: Buffer; salt: Buffer }

export type DtlsOptions = {
  /** The SHA-256 of the certificate of the other side. */
  fingerprint: Buffer
  send(datagram: Buffer): void
  onConnected(keys: { receive: SrtpKeys; send: SrtpKeys }): void
  /** It has ended. The reason is undefined if the other side has closed it. */
  onClosed(reason: string | undefined): void
}

/** The certificate of this process, and what all its connections share. */
export class DtlsContext {
  /** As in a session description: `AB:CD:…`. */
  readonly fingerprint: string
  readonly #ssl: OpenSsl
  readonly #context: unknown

  private constructor(ssl: OpenSsl, { cert, key }: CertificateAndKey) {
    this.#ssl = ssl
    this.fingerprint = new X509Certificate(cert).fingerprint256
    this.#context = ssl.newContext({ cert, key })
  }

  /** Undefined on a system where the OpenSSL of Node cannot be called. */
  static async open(certificate: CertificateAndKey): Promise<DtlsContext | undefined> {
    const ssl = await openSsl()
    return ssl && new DtlsContext(ssl, certificate)
  }

  /** The server's side of a connection. */
  accept(options: DtlsOptions): DtlsConnection {
    return new DtlsConnection(this.#ssl, this.#ssl.newConnection(this.#context, maxDatagram), options)
  }

  close(): void {
    this.#ssl.freeContext(this.#context)
  }
}

/** One DTLS connection, which exists for the keys of SRTP. */
export class DtlsConnection {
  readonly #ssl: OpenSsl
  readonly #handle: ReturnType<OpenSsl['newConnection']>
  readonly #options: DtlsOptions
  #state: 'connecting' | 'connected' | 'closed' = 'connecting'

  constructor(ssl: OpenSsl, handle: ReturnType<OpenSsl['newConnection']>, options: DtlsOptions) {
    this.#ssl = ssl
    this.#handle = handle
    this.#options = options
  }

  receive(datagram: Buffer): void {
    if (this.#state === 'closed' || datagram.length > maxPendingBytes) return
    this.#ssl.write(this.#handle, datagram)
    this.#advance()
  }

  /** Repeats what may have been lost. To be called a few times a second. */
  tick(): void {
    if (this.#state !== 'connecting') return
    this.#ssl.handleTimeout(this.#handle)
    this.#flush()
  }

  close(): void {
    if (this.#state === 'closed') return
    if (this.#state === 'connected') {
      this.#ssl.shutdown(this.#handle)
      this.#flush()
    }
    this.#end()
  }

  #advance(): void {
    const wasConnecting = this.#state === 'connecting'
    const result = wasConnecting ? this.#ssl.handshake(this.#handle) : this.#ssl.read(this.#handle)
    this.#flush()
    if (result === 'failed') this.#fail('The DTLS connection failed.')
    else if (result === 'closed') this.#fail(undefined)
    else if (wasConnecting && result === 'done') this.#connect()
  }

  #connect(): void {
    const actual = this.#ssl.peerFingerprint(this.#handle)
    if (!actual?.equals(this.#options.fingerprint)) {
      this.#fail('The certificate does not match the fingerprint of the offer.')
      return
    }
    const keys = this.#ssl.exportKeys(this.#handle, 2 * (keyBytes + saltBytes))
    if (!keys) {
      this.#fail('The encoder did not agree to SRTP.')
      return
    }
    this.#state = 'connected'
    // RFC 5764, 4.2: the keys of client and server, then the salts of client and server.
    const part = (from: number, length: number) => Buffer.from(keys.subarray(from, from + length))
    const salts = 2 * keyBytes
    this.#options.onConnected({
      receive: { key: part(0, keyBytes), salt: part(salts, saltBytes) },
      send: { key: part(keyBytes, keyBytes), salt: part(salts + saltBytes, saltBytes) },
    })
  }

  /** Sends what OpenSSL has written, as many records in a datagram as fit. */
  #flush(): void {
    const bytes = this.#ssl.takeOutput(this.#handle)
    let from = 0
    for (let at = 0; at + recordHeaderBytes <= bytes.length; ) {
      const end = at + recordHeaderBytes + bytes.readUInt16BE(at + recordHeaderBytes - 2)
      if (end - from > maxDatagram && at > from) {
        this.#options.send(bytes.subarray(from, at))
        from = at
      }
      at = end
    }
    if (from < bytes.length) this.#options.send(bytes.subarray(from))
  }

  #fail(reason: string | undefined): void {
    this.#end()
    this.#options.onClosed(reason)
  }

  #end(): void {
    this.#state = 'closed'
    this.#ssl.freeConnection(this.#handle)
  }
}
