import { hash } from 'node:crypto'
import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../context.ts'
import { ApiError, httpErrors, notFound } from '../lib/errors.ts'
import { FileMissing, type Files, type HotFile } from '../lib/files/files.ts'
import { sendFile, takesFile } from '../lib/send-file.ts'

/** Of an answer that leads to an address of the store, which is valid for longer than that. */
const forHalfAnHour = 'public, max-age=1800'

export type Range = { from: number; to: number }

export type Content = {
  type: string
  cacheControl: string
  /** Strong: the same as long as the bytes are. */
  etag: string
  size: number
  /** Content-Disposition. */
  disposition?: string | undefined
} & ({ body: Buffer } | { key: string })

const etagOf = (content: string | Buffer) => `"${hash('sha256', content, 'base64url').slice(0, 22)}"`

/** Content that is at hand. */
export const inMemory = (body: Buffer, type: string, cacheControl: string): Content => ({
  ...{ type, cacheControl, body },
  ...{ etag: etagOf(body), size: body.length },
})

/** A whole file. Files never change under their key, which therefore tells them apart. */
export const inFile = (
  { key, size }: { key: string; size: number },
  type: string,
  cacheControl: string,
): Content => ({ type, cacheControl, key, size, etag: etagOf(`${key} ${size}`) })

/** Whole or in part, or nothing of it where the client has it already (RFC 9110, 13 and 14). */
export async function sendContent(
  context: Pick<Context, 'config' | 'files'>,
  request: FastifyRequest,
  reply: FastifyReply,
  content: Content,
): Promise<FastifyReply> {
  const { etag, size } = content
  const { 'if-none-match': known, 'if-range': sameAs, range: asked } = request.headers
  reply.headers({ etag, 'cache-control': content.cacheControl, 'accept-ranges': 'bytes' })
  if (known !== undefined && matches(known, etag)) return reply.code(304).send()
  if ('key' in content && (await handOver(context, request, reply, content))) return reply.send()
  // A range is for GET; one of another version of the file is not wanted.
  const isForPart = request.method === 'GET' && (sameAs === undefined || sameAs === etag)
  const range = isForPart && asked !== undefined ? readRange(asked, size) : undefined
  if (range === 'outside')
    throw new ApiError(httpErrors.rangeNotSatisfiable, {
      headers: { 'content-range': `bytes */${size}`, 'cache-control': 'no-store' },
    })
  if (range) reply.code(206).header('content-range', `bytes ${range.from}-${range.to}/${size}`)
  const part = range ?? { from: 0, to: size - 1 }
  reply.headers({ 'content-type': content.type, 'content-length': part.to - part.from + 1 })
  if (content.disposition !== undefined) reply.header('content-disposition', content.disposition)
  if (request.method === 'HEAD') return reply.send()
  if ('body' in content) return reply.send(partOf(content.body, part))
  return sendStored(context, request, reply, content, part)
}

const partOf = (bytes: Buffer, { from, to }: Range) => bytes.subarray(from, to + 1)

async function sendStored(
  { files }: Pick<Context, 'files'>,
  request: FastifyRequest,
  reply: FastifyReply,
  { key, size }: { key: string; size: number },
  part: Range,
): Promise<FastifyReply> {
  const length = part.to - part.from + 1
  const hot = await openFile(files, request, reply, { key, size })
  if (Buffer.isBuffer(hot)) return reply.send(partOf(hot, part))
  if (hot !== undefined && takesFile(reply.raw)) {
    // Fastify leaves it to us, with what it does before it sends.
    if (request.server.isClosing) reply.header('connection', 'close')
    reply.raw.writeHead(reply.statusCode, reply.getHeaders() as OutgoingHttpHeaders)
    reply.hijack()
    sendFile(reply.raw, hot, part.from, length)
    return reply
  }
  const stream = await found(request, files.read(key, part))
  endIfShort(reply, length)
  return reply.send(stream)
}

/** Whether somebody else sends it, who is told by the headers. */
async function handOver(
  { config, files }: Pick<Context, 'config' | 'files'>,
  request: FastifyRequest,
  reply: FastifyReply,
  { key, type, cacheControl, disposition }: Content & { key: string },
): Promise<boolean> {
  if (config.accelRedirect !== undefined && files.pathOf(key) !== undefined) {
    // nginx does all the rest, ranges included.
    const path = key.split('/').map(encodeURIComponent).join('/')
    reply.headers({ 'x-accel-redirect': config.accelRedirect + path, 'content-type': type })
    if (disposition !== undefined) reply.header('content-disposition', disposition)
    return true
  }
  // An address is signed for one method.
  if (!files.addressOf || request.method === 'HEAD') return false
  const isPrivate = cacheControl.startsWith('private')
  const isLasting = cacheControl.includes('immutable')
  reply.removeHeader('etag')
  reply.removeHeader('accept-ranges')
  reply
    .code(302)
    .header('location', await files.addressOf(key, { type, cacheControl, disposition }))
    .header('cache-control', isPrivate ? 'no-store' : isLasting ? forHalfAnHour : cacheControl)
  return true
}

/** Small files are kept at hand, as many viewers ask for the same; others are read as they are sent. */
async function openFile(
  files: Files,
  request: FastifyRequest,
  reply: FastifyReply,
  { key, size }: { key: string; size: number },
): Promise<HotFile | undefined> {
  const held = await found(request, files.hold(key, size, takesFile(reply.raw)))
  if (!held) return undefined
  // Also where the viewer leaves before the end, or has left.
  if (reply.raw.destroyed) held.release()
  else reply.raw.once('close', held.release)
  return held.value
}

async function found<T>(request: FastifyRequest, work: Promise<T>): Promise<T> {
  try {
    return await work
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
