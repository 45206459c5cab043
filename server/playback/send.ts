import { hash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, notFound } from '../lib/errors.ts'
import { FileMissing, type Files } from '../lib/files/files.ts'

export type Range = { from: number; to: number }

export type Content = {
  type: string
  cacheControl: string
  /** Strong: the same as long as the bytes are. */
  etag: string
  size: number
  /** Content-Disposition. */
  disposition?: string | undefined
  open(range: Range): Promise<Readable> | Buffer
}

const etagOf = (content: string | Buffer) => `"${hash('sha256', content, 'base64url').slice(0, 22)}"`

/** Content that is at hand. */
export function inMemory(body: Buffer, type: string, cacheControl: string): Content {
  const open = ({ from, to }: Range) => body.subarray(from, to + 1)
  return { type, cacheControl, etag: etagOf(body), size: body.length, open }
}

/** `size` bytes of a file from `offset` on. Files never change under their key, which therefore tells them apart. */
export function inFile(
  files: Files,
  { key, offset, size }: { key: string; offset: number; size: number },
  type: string,
  cacheControl: string,
): Content {
  const open = ({ from, to }: Range) => files.read(key, { from: offset + from, to: offset + to })
  return { type, cacheControl, etag: etagOf(`${key} ${offset} ${size}`), size, open }
}

/** Whole or in part, or nothing of it where the client has it already (RFC 9110, 13 and 14). */
export async function sendContent(
  request: FastifyRequest,
  reply: FastifyReply,
  content: Content,
): Promise<FastifyReply> {
  const { etag, size } = content
  const { 'if-none-match': known, 'if-range': sameAs, range: asked } = request.headers
  reply.headers({ etag, 'cache-control': content.cacheControl, 'accept-ranges': 'bytes' })
  if (known !== undefined && matches(known, etag)) return reply.code(304).send()
  // A range is for GET; one of another version of the file is not wanted.
  const isForPart = request.method === 'GET' && (sameAs === undefined || sameAs === etag)
  const range = isForPart && asked !== undefined ? readRange(asked, size) : undefined
  if (range === 'outside')
    throw new ApiError('range-not-satisfiable', {
      headers: { 'content-range': `bytes */${size}`, 'cache-control': 'no-store' },
    })
  if (range) reply.code(206).header('content-range', `bytes ${range.from}-${range.to}/${size}`)
  const { from, to } = range ?? { from: 0, to: size - 1 }
  const length = to - from + 1
  reply.headers({ 'content-type': content.type, 'content-length': length })
  if (content.disposition !== undefined) reply.header('content-disposition', content.disposition)
  if (request.method === 'HEAD') return reply.send()
  const body = await openBody(request, content, { from, to })
  if (!Buffer.isBuffer(body)) endIfShort(reply, length)
  return reply.send(body)
}

async function openBody(request: FastifyRequest, content: Content, range: Range) {
  try {
    return await content.open(range)
  } catch (error) {
    if (!(error instanceof FileMissing)) throw error
    // As a rule the video has just been deleted.
    request.log.warn({ requestId: request.id, err: error }, 'a file to play is missing')
    throw notFound('videoId')
  }
}

/** Weak comparison: a cache between may have weakened the tag. */
const matches = (header: string, etag: string) =>
  header.trim() === '*' || header.split(',').some((each) => each.trim().replace(/^W\//, '') === etag)

/** One range; undefined where there is none that is to be heeded: then all is sent. */
export function readRange(header: string, size: number): Range | 'outside' | undefined {
  const [, first, last] = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(header) ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined
  if (first === '') {
    const from = Math.max(0, size - Number(last))
    return from < size ? { from, to: size - 1 } : 'outside'
  }
  const from = Number(first)
  const to = last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (last !== '' && Number(last) < from) return undefined
  return from < size ? { from, to } : 'outside'
}

/** What would follow on the connection would be taken for the rest of a file that is shorter than it should be. */
function endIfShort(reply: FastifyReply, length: number): void {
  let sent = 0
  reply.raw.once('pipe', (source) => {
    source.on('data', (chunk: Buffer) => {
      sent += chunk.length
    })
    source.once('end', () => {
      if (sent < length) reply.raw.destroy()
    })
  })
}
