import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../context.ts'
import { ApiError, httpErrors, notFound } from '../lib/errors.ts'
import { etagOf, matchesEtag } from '../lib/etag.ts'
import { type CachedFile, FileNotFoundError, type Files } from '../lib/files/files.ts'
import { canSendFile, sendFile } from '../lib/send-file.ts'
import { type SentKind, sentBytes } from './metrics.ts'

/** For a redirect to a presigned URL of the store, which is valid for longer. */
const cacheHalfAnHour = 'public, max-age=1800'

type SendContext = Pick<Context, 'config' | 'files' | 'metrics'> & { sentKind: SentKind }

export type Range = { from: number; to: number }

export type Content = {
  type: string
  cacheControl: string
  /** Strong: it changes with the bytes. */
  etag: string
  size: number
  /** Content-Disposition. */
  disposition?: string | undefined
} & ({ body: Buffer } | { key: string })

export const inMemory = (body: Buffer, type: string, cacheControl: string): Content => ({
  type,
  cacheControl,
  body,
  etag: etagOf(body),
  size: body.length,
})

/** A file of the store. Files never change under their key, so the key makes the ETag. */
export const inFile = (
  { key, size }: { key: string; size: number },
  type: string,
  cacheControl: string,
): Content => ({ type, cacheControl, key, size, etag: etagOf(`${key} ${size}`) })

/**
 * Sends all of the content, a range of it, or a 304 (RFC 9110, 13 and 14). Not by `@fastify/static`, which would call
 * stat for every request and knows neither S3 nor the cache of open files.
 */
export async function sendContent(
  context: SendContext,
  request: FastifyRequest,
  reply: FastifyReply,
  content: Content,
): Promise<FastifyReply> {
  const { etag, size } = content
  const { 'if-none-match': known, 'if-range': sameAs, range: asked } = request.headers
  reply.headers({ etag, 'cache-control': content.cacheControl, 'accept-ranges': 'bytes' })
  if (matchesEtag(known, etag)) return reply.code(304).send()
  if ('key' in content && (await delegate(context, request, reply, content))) return reply.send()
  // Only GET has ranges, and If-Range rejects those of another version of the file.
  const mayBeRange = request.method === 'GET' && (sameAs === undefined || sameAs === etag)
  const range = mayBeRange && asked !== undefined ? readRange(asked, size) : undefined
  if (range === 'outside')
    throw new ApiError(httpErrors.rangeNotSatisfiable, {
      headers: { 'content-range': `bytes */${size}`, 'cache-control': 'no-store' },
    })
  if (range) reply.code(206).header('content-range', `bytes ${range.from}-${range.to}/${size}`)
  const part = range ?? { from: 0, to: size - 1 }
  reply.headers({ 'content-type': content.type, 'content-length': part.to - part.from + 1 })
  if (content.disposition !== undefined) reply.header('content-disposition', content.disposition)
  if (request.method === 'HEAD') return reply.send()
  const kind = { kind: context.sentKind }
  const count = (bytes: number) => context.metrics.count(sentBytes, kind, bytes)
  if ('body' in content) return sendBuffer(reply, content.body, part, count)
  return sendStored(context.files, request, reply, content, part, count)
}

type Count = (bytes: number) => void

function sendBuffer(reply: FastifyReply, bytes: Buffer, { from, to }: Range, count: Count): FastifyReply {
  count(to - from + 1)
  return reply.send(bytes.subarray(from, to + 1))
}

async function sendStored(
  files: Files,
  request: FastifyRequest,
  reply: FastifyReply,
  { key, size }: { key: string; size: number },
  part: Range,
  count: Count,
): Promise<FastifyReply> {
  const length = part.to - part.from + 1
  const file = await openFile(files, request, reply, { key, size })
  if (Buffer.isBuffer(file)) return sendBuffer(reply, file, part, count)
  if (file !== undefined && canSendFile(reply.raw)) {
    // Fastify does not send this response, so its onSend hook does not run.
    if (request.server.isClosing) reply.header('connection', 'close')
    reply.raw.writeHead(reply.statusCode, reply.getHeaders() as OutgoingHttpHeaders)
    reply.hijack()
    sendFile(reply.raw, file, part.from, length, count)
    return reply
  }
  const stream = await orNotFound(request, files.read(key, part))
  countStream(reply, length, count)
  return reply.send(stream)
}

/** Lets nginx or the store send the file, if they are configured to. */
async function delegate(
  { config, files }: Pick<Context, 'config' | 'files'>,
  request: FastifyRequest,
  reply: FastifyReply,
  { key, type, cacheControl, disposition }: Content & { key: string },
): Promise<boolean> {
  if (config.accelRedirect !== undefined && files.pathOf(key) !== undefined) {
    // nginx handles ranges as well, and would add its header to this one.
    reply.removeHeader('accept-ranges')
    const path = key.split('/').map(encodeURIComponent).join('/')
    reply.headers({ 'x-accel-redirect': config.accelRedirect + path, 'content-type': type })
    if (disposition !== undefined) reply.header('content-disposition', disposition)
    return true
  }
  // A presigned URL is valid for one method.
  if (!files.signedUrl || request.method === 'HEAD') return false
  const isPrivate = cacheControl.startsWith('private')
  const isImmutable = cacheControl.includes('immutable')
  reply.removeHeader('etag')
  reply.removeHeader('accept-ranges')
  reply
    .code(302)
    .header('location', await files.signedUrl(key, { type, cacheControl, disposition }))
    .header('cache-control', isPrivate ? 'no-store' : isImmutable ? cacheHalfAnHour : cacheControl)
  return true
}

/** Small files stay open or in memory, as many viewers request the same ones. Undefined for others. */
async function openFile(
  files: Files,
  request: FastifyRequest,
  reply: FastifyReply,
  { key, size }: { key: string; size: number },
): Promise<CachedFile | undefined> {
  const open = await orNotFound(request, files.acquire(key, size, canSendFile(reply.raw)))
  if (!open) return undefined
  // The viewer may leave before the end, or may have left.
  if (reply.raw.destroyed) open.release()
  else reply.raw.once('close', open.release)
  return open.value
}

async function orNotFound<T>(request: FastifyRequest, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof FileNotFoundError)) throw error
    // Usually the video has just been deleted.
    request.log.warn({ requestId: request.id, err: error }, 'a media file is missing from the store')
    throw notFound('videoId')
  }
}

/**
 * A single range. Undefined means that the header is ignored and everything is sent, as for several ranges. Not by
 * `range-parser`, which reports an invalid range such as 20-10 as unsatisfiable.
 */
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

/**
 * Counts what is sent. Closes the connection after a file that is too short: the client would take the next response for
 * the rest of it.
 */
function countStream(reply: FastifyReply, length: number, count: Count): void {
  let sent = 0
  reply.raw.once('pipe', (source) => {
    source.on('data', (chunk: Buffer) => {
      sent += chunk.length
      count(chunk.length)
    })
    source.once('end', () => {
      if (sent < length) reply.raw.destroy()
    })
  })
}
