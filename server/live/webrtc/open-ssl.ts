import type { CertificateAndKey } from '../../lib/tls-certificate.ts'

// The functions of OpenSSL that DTLS needs. Node exports them from its executable for addons.

type Handle = { ssl: unknown; input: unknown; output: unknown }
type Result = 'done' | 'waiting' | 'closed' | 'failed'
export type OpenSsl = NonNullable<Awaited<ReturnType<typeof load>>>

let loaded: Promise<OpenSsl | undefined> | undefined

/** Undefined on systems where they cannot be called. Loaded when it is first needed. */
export function openSsl(): Promise<OpenSsl | undefined> {
  loaded ??= load().catch(() => undefined)
  return loaded
}

const command = { setMtu: 17, setSessionCache: 44, handleTimeout: 74, setMinVersion: 123 }
const dtls12 = 0xfefd
const noQueryMtu = 0x1000n
/** Nobody resumes a session of WebRTC. OpenSSL would keep thousands. */
const noSessionCache = 0
const noTicket = 0x4000n
const noRenegotiation = 0x40000000n
const verifyPeer = 1
const failWithoutCertificate = 2
const pending = 10
const errorOf = { ssl: 1, wantRead: 2, wantWrite: 3, closed: 6 }
const exportLabel = 'EXTRACTOR-dtls_srtp'
const digestBytes = 32

async function load() {
  const { default: koffi } = await import('koffi')
  // What this process is linked with.
  const library = koffi.load(null)
  const bind = (definition: string) => library.func(definition)
  const c = {
    method: bind('void *DTLS_server_method()'),
    newContext: bind('void *SSL_CTX_new(void *method)'),
    freeContext: bind('void SSL_CTX_free(void *context)'),
    control: bind('long SSL_CTX_ctrl(void *context, int command, long number, void *pointer)'),
    useCertificate: bind('int SSL_CTX_use_certificate(void *context, void *certificate)'),
    useKey: bind('int SSL_CTX_use_PrivateKey(void *context, void *key)'),
    useSrtp: bind('int SSL_CTX_set_tlsext_use_srtp(void *context, const char *profiles)'),
    setCiphers: bind('int SSL_CTX_set_cipher_list(void *context, const char *ciphers)'),
    bioOf: bind('void *BIO_new_mem_buf(const void *bytes, int length)'),
    newBio: bind('void *BIO_new(void *method)'),
    freeBio: bind('int BIO_free(void *bio)'),
    memory: bind('void *BIO_s_mem()'),
    bioControl: bind('long BIO_ctrl(void *bio, int command, long number, void *pointer)'),
    bioRead: bind('int BIO_read(void *bio, void *bytes, int length)'),
    bioWrite: bind('int BIO_write(void *bio, const void *bytes, int length)'),
    readCertificate: bind('void *PEM_read_bio_X509(void *bio, void *to, void *password, void *argument)'),
    readKey: bind('void *PEM_read_bio_PrivateKey(void *bio, void *to, void *password, void *argument)'),
    freeCertificate: bind('void X509_free(void *certificate)'),
    freeKey: bind('void EVP_PKEY_free(void *key)'),
    sha256: bind('void *EVP_sha256()'),
    digest: bind('int X509_digest(void *certificate, void *type, void *bytes, void *length)'),
    newSsl: bind('void *SSL_new(void *context)'),
    freeSsl: bind('void SSL_free(void *ssl)'),
    setBios: bind('void SSL_set_bio(void *ssl, void *input, void *output)'),
    setOptions: bind('uint64_t SSL_set_options(void *ssl, uint64_t options)'),
    sslControl: bind('long SSL_ctrl(void *ssl, int command, long number, void *pointer)'),
    accept: bind('void SSL_set_accept_state(void *ssl)'),
    handshake: bind('int SSL_do_handshake(void *ssl)'),
    read: bind('int SSL_read(void *ssl, void *bytes, int length)'),
    shutdown: bind('int SSL_shutdown(void *ssl)'),
    error: bind('int SSL_get_error(void *ssl, int result)'),
    peer: bind('void *SSL_get0_peer_certificate(void *ssl)'),
    selectedProfile: bind('void *SSL_get_selected_srtp_profile(void *ssl)'),
    exportKeys: bind(
      'int SSL_export_keying_material(void *ssl, void *bytes, size_t length, const char *label, size_t labelLength, void *context, size_t contextLength, int useContext)',
    ),
    clearErrors: bind('void ERR_clear_error()'),
  }
  const verifyType = koffi.pointer(koffi.proto('int kinoraVerifyCertificate(void *store, void *argument)'))
  const setVerify = library.func('SSL_CTX_set_cert_verify_callback', 'void', ['void *', verifyType, 'void *'])
  const setVerifyMode = bind('void SSL_CTX_set_verify(void *context, int mode, void *callback)')
  // Certificates of WebRTC are self-signed. Their fingerprint is compared after the handshake.
  const acceptAny = koffi.register(() => 1, verifyType)
  const scratch = Buffer.alloc(64 * 1024)

  const parse = (pem: Buffer, read: (bio: unknown) => unknown): unknown => {
    const bio = c.bioOf(pem, pem.length)
    const parsed = read(bio)
    c.freeBio(bio)
    if (!parsed) throw new Error('OpenSSL could not read a certificate')
    return parsed
  }

  const run = (ssl: unknown, operation: () => number): Result => {
    // An error that Node left in the queue would be taken for one of this operation.
    c.clearErrors()
    const result = operation()
    if (result > 0) return 'done'
    const error = c.error(ssl, result)
    // Node reads the same queue of errors.
    c.clearErrors()
    if (error === errorOf.wantRead || error === errorOf.wantWrite) return 'waiting'
    return error === errorOf.closed ? 'closed' : 'failed'
  }

  return {
    newContext({ cert, key }: CertificateAndKey): unknown {
      const context = c.newContext(c.method())
      c.control(context, command.setMinVersion, dtls12, null)
      c.control(context, command.setSessionCache, noSessionCache, null)
      c.setCiphers(context, 'ECDHE+AESGCM:ECDHE+CHACHA20')
      c.useSrtp(context, 'SRTP_AES128_CM_SHA1_80')
      const certificate = parse(cert, (bio) => c.readCertificate(bio, null, null, null))
      const privateKey = parse(key, (bio) => c.readKey(bio, null, null, null))
      c.useCertificate(context, certificate)
      c.useKey(context, privateKey)
      c.freeCertificate(certificate)
      c.freeKey(privateKey)
      setVerifyMode(context, verifyPeer | failWithoutCertificate, null)
      setVerify(context, acceptAny, null)
      c.clearErrors()
      return context
    },
    freeContext: (context: unknown): void => c.freeContext(context),
    newConnection(context: unknown, mtu: number): Handle {
      const ssl = c.newSsl(context)
      const [input, output] = [c.newBio(c.memory()), c.newBio(c.memory())]
      c.setBios(ssl, input, output)
      c.setOptions(ssl, noQueryMtu | noTicket | noRenegotiation)
      c.sslControl(ssl, command.setMtu, mtu, null)
      c.accept(ssl)
      return { ssl, input, output }
    },
    freeConnection: ({ ssl }: Handle): void => c.freeSsl(ssl),
    write({ input }: Handle, bytes: Buffer): void {
      c.bioWrite(input, bytes, bytes.length)
    },
    handshake: ({ ssl }: Handle): Result => run(ssl, () => c.handshake(ssl)),
    /** Application data is discarded: only alerts matter. */
    read({ ssl }: Handle): Result {
      for (;;) {
        const result = run(ssl, () => c.read(ssl, scratch, scratch.length))
        if (result !== 'done') return result
      }
    },
    handleTimeout({ ssl }: Handle): void {
      c.sslControl(ssl, command.handleTimeout, 0, null)
      c.clearErrors()
    },
    shutdown({ ssl }: Handle): void {
      c.shutdown(ssl)
      c.clearErrors()
    },
    takeOutput({ output }: Handle): Buffer {
      const length = Math.min(scratch.length, Number(c.bioControl(output, pending, 0, null)))
      if (length === 0) return Buffer.alloc(0)
      return Buffer.from(scratch.subarray(0, Math.max(0, c.bioRead(output, scratch, length))))
    },
    peerFingerprint({ ssl }: Handle): Buffer | undefined {
      const certificate = c.peer(ssl)
      if (!certificate || c.digest(certificate, c.sha256(), scratch, null) !== 1) return undefined
      return Buffer.from(scratch.subarray(0, digestBytes))
    },
    /** Undefined if the other side did not agree to a profile of SRTP. */
    exportKeys({ ssl }: Handle, length: number): Buffer | undefined {
      if (!c.selectedProfile(ssl)) return undefined
      const result = c.exportKeys(ssl, scratch, length, exportLabel, exportLabel.length, null, 0, 0)
      return result === 1 ? Buffer.from(scratch.subarray(0, length)) : undefined
    },
  }
}
