import type { FastifyRequest } from 'fastify'
import type { Context } from '../context.ts'
import { notFound } from '../lib/errors.ts'
import { attachment } from './download-name.ts'
import { type Content, inFile } from './send.ts'
import { cacheForever, cacheOneMinute } from './serve.ts'
import type { Mp4Asset } from './store.ts'

export async function loadMp4(
  { files }: Pick<Context, 'files'>,
  { key, title }: Mp4Asset,
  request: FastifyRequest,
): Promise<Content> {
  const found = key === null ? undefined : await files.stat(key)
  if (key === null || !found) throw notFound('videoId')
  // The route has no schema, so query parameters are lists.
  const { dl } = request.query as { dl?: string[] }
  const file = { key, size: found.size }
  if (!dl?.includes('1')) return inFile(file, 'video/mp4', cacheForever)
  // A download is named after the title, which may change.
  return { ...inFile(file, 'video/mp4', cacheOneMinute), disposition: attachment(title) }
}
