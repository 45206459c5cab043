import {
  constants,
  Http2ServerRequest,
  Http2ServerResponse,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import type { ReadableOptions } from 'node:stream'

// Handlers are written for the messages of HTTP/1. Those that Node makes for HTTP/2 differ in some properties, which are
// replaced here. They are not written as accessors, because their types are those of fields.

export class Http2Request extends Http2ServerRequest {
  readonly #headers: IncomingHttpHeaders
  #receivedBytes = 0
  onReceived: (() => void) | undefined

  static {
    replaceProperties<Http2Request>(Http2Request.prototype, {
      headers: (request) => request.#headers,
      // Node's is also true if the client has broken off the request.
      complete: ({ stream, aborted }) => stream.endAfterHeaders || (stream.readableEnded && !aborted),
      // Node's is always false.
      destroyed: ({ stream }) => stream.destroyed,
    })
  }

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    options: ReadableOptions,
    rawHeaders: readonly string[],
  ) {
    super(stream, headers, options, rawHeaders)
    this.#headers = toHttp1Headers(headers, !stream.endAfterHeaders)
  }

  /** The bytes of the body that have arrived. The connection counts those of all requests. */
  get receivedBytes(): number {
    return this.#receivedBytes
  }

  override push(chunk: Buffer | null): boolean {
    if (chunk !== null) {
      this.#receivedBytes += chunk.length
      this.onReceived?.()
    }
    return super.push(chunk)
  }
}

/** As a proxy would translate them. `:authority` replaces `host` (RFC 9113, 8.3.1). */
function toHttp1Headers(headers: IncomingHttpHeaders, hasBody: boolean): IncomingHttpHeaders {
  const plain: IncomingHttpHeaders = {}
  for (const name in headers) if (name[0] !== ':') plain[name] = headers[name]
  const authority = headers[':authority']
  if (authority !== undefined) plain.host = authority
  // Without one of the two, Fastify does not read a body.
  if (hasBody && plain['content-length'] === undefined) plain['transfer-encoding'] = 'chunked'
  return plain
}

export class Http2Response extends Http2ServerResponse<Http2Request> {
  #writtenBytes = 0

  static {
    // Node's are undefined.
    replaceProperties<Http2Response>(Http2Response.prototype, {
      closed: ({ stream }) => stream.destroyed,
      destroyed: ({ stream }) => stream.destroyed,
    })
  }

  /** The bytes of the body that the system has accepted. */
  get sentBytes(): number {
    return this.#writtenBytes - this.stream.writableLength
  }

  override write(chunk: string | Buffer, ...rest: never[]): boolean {
    // Node counts characters of strings, too.
    this.#writtenBytes += chunk.length
    return super.write(chunk, ...rest)
  }

  /** Also discards the rest of the request, so that the client can read the response. */
  override end(...args: never[]): this {
    super.end(...args)
    if (!this.req.complete) this.req.unpipe().resume()
    return this
  }

  /** Node would not report an error, and the client could take the response for complete. */
  override destroy(error?: Error): this {
    if (!this.writableEnded && !this.stream.destroyed) this.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    super.destroy(error)
    return this
  }
}

function replaceProperties<T>(prototype: T, values: { [Name in keyof T]?: (message: T) => T[Name] }): void {
  for (const [name, value] of Object.entries(values) as [string, (message: T) => unknown][])
    Object.defineProperty(prototype, name, {
      get(this: T) {
        return value(this)
      },
    })
}
