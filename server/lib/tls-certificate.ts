import { createSecureContext, type Server } from 'node:tls'

export type CertificateAndKey = { cert: Buffer; key: Buffer }

/** The certificate of the TLS servers of this process. It can be replaced while they run. */
export class TlsCertificate {
  /** PEM, with the intermediate certificates. */
  cert: Buffer
  key: Buffer
  readonly #servers = new Set<Server>()

  constructor({ cert, key }: CertificateAndKey) {
    this.cert = cert
    this.key = key
  }

  /** The server uses every later certificate for new connections. Open connections keep theirs. */
  follow(server: Server): void {
    this.#servers.add(server)
    server.once('close', () => this.#servers.delete(server))
  }

  /** Throws if this is not a certificate with its key, and changes nothing. */
  replace({ cert, key }: CertificateAndKey): void {
    createSecureContext({ cert, key })
    this.cert = cert
    this.key = key
    for (const server of this.#servers) server.setSecureContext({ cert, key })
  }
}
