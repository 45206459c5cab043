import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { TLSSocket } from 'node:tls'

const maxBodyBytes = 4_096

export type Validity = { notBefore: Date; notAfter: Date }

export type Head = {
  status: number
  headers: IncomingHttpHeaders
  /** The beginning of the body. */
  text: string
  /** When the certificate of the server is valid. */
  validity: Validity | undefined
}

/** Requests a URL and reads the beginning of the response. Redirects are not followed. */
export function fetchHead(
  url: string,
  signal: AbortSignal,
  { rejectUnauthorized = true } = {},
): Promise<Head> {
  const request = url.startsWith('https:') ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    const sent = request(url, { signal, agent: false, rejectUnauthorized }, async (response) => {
      try {
        const { valid_from: from, valid_to: until } =
          (response.socket as Partial<TLSSocket>).getPeerCertificate?.() ?? {}
        const chunks: Buffer[] = []
        let length = 0
        for await (const chunk of response) {
          chunks.push(chunk)
          length += chunk.length
          if (length > maxBodyBytes) break
        }
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString().slice(0, maxBodyBytes),
          validity: from && until ? { notBefore: new Date(from), notAfter: new Date(until) } : undefined,
        })
      } catch (error) {
        reject(error)
      }
    })
    sent.on('error', reject).end()
  })
}
