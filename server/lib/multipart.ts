import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { Busboy } from '@fastify/busboy'
import { ApiError, fileErrors, httpErrors, invalidPayload } from './errors.ts'

export type IncomingFile = {
  /** The last segment of the name that the client gave. */
  filename: string
  stream: Readable
  /** The text fields that came before the file. */
  fields: Record<string, string>
}

/** A client that sends less than this in a window is not coming through. */
const leastBytes = 1024
const windowMs = 30_000
const windowSteps = 6

/**
 * Reads a body with one file, whatever its field is called, and text fields before or after it. `onFile` gets the
 * file as it arrives and must read it to its end. Nothing is kept in memory but the fields.
 */
export async function readMultipart<T>(
  request: IncomingMessage,
  onFile: (file: IncomingFile) => Promise<T>,
): Promise<{ fields: Record<string, string>; result: T }> {
  const contentType = request.headers['content-type'] ?? ''
  if (!/^multipart\/form-data\b/i.test(contentType)) {
    throw invalidPayload('The body must be multipart/form-data with the file in it.')
  }
  // A stream that has ended emits nothing more: a client that left while it was being authorized is noticed here.
  if (request.destroyed && !request.complete) throw new ApiError(fileErrors.invalid, { name: 'file' })
  const parser = openParser(contentType)
  const fields: Record<string, string> = {}
  let work: Promise<T> | undefined
  let current: Readable | undefined

  try {
    await new Promise<void>((resolve, reject) => {
      const broken = () => reject(new ApiError(fileErrors.invalid, { name: 'file' }))
      const stopWatching = watch(request, () =>
        reject(new ApiError(httpErrors.requestTimeout, { headers: { connection: 'close' } })),
      )
      parser.on('field', (name, value) => {
        fields[name] = value
      })
      parser.on('file', (_field, stream, filename) => {
        current = stream
        // It ends with the parser; a listener keeps that from ending the process.
        stream.on('error', () => {})
        work = onFile({ filename: cleanName(filename), stream, fields: { ...fields } })
        work.catch(reject)
      })
      parser.on('filesLimit', () => reject(new ApiError(fileErrors.multiple, { name: 'file' })))
      parser.on('fieldsLimit', () => reject(invalidPayload('There are too many fields in the body.')))
      parser.on('partsLimit', () => reject(invalidPayload('There are too many parts in the body.')))
      parser.on('error', broken)
      parser.on('finish', resolve)
      request.on('aborted', broken)
      request.on('error', broken)
      request.on('close', () => {
        stopWatching()
        if (!request.complete) broken()
      })
      request.pipe(parser)
    })
  } catch (error) {
    request.unpipe(parser)
    current?.destroy(error as Error)
    parser.destroy()
    // What the client still sends is read and thrown away, so that it gets to read the answer.
    request.resume()
    await work?.catch(() => {})
    throw error
  }
  if (!work) throw new ApiError(fileErrors.missing, { name: 'file' })
  return { fields, result: await work }
}

/** A name becomes a title: text that can be stored, and not too much of it. */
function cleanName(filename: string | undefined): string {
  const text = (filename ?? '').toWellFormed().replaceAll('\0', '')
  return [...text].slice(0, 255).join('') || 'file'
}

function openParser(contentType: string) {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      limits: { files: 1, fields: 20, parts: 25, fieldSize: 16 * 1024, fieldNameSize: 200, headerPairs: 50 },
    })
  } catch {
    throw invalidPayload('The Content-Type header has no boundary.')
  }
}

function watch(request: IncomingMessage, onStall: () => void): () => void {
  // The window slides: one that is set to the clock would notice a silence only at the end of the next.
  let marks = [request.socket.bytesRead]
  const timer = setInterval(() => {
    const received = request.socket.bytesRead
    // While we do not read, it is not the client's fault that nothing comes.
    if (request.isPaused()) marks = []
    marks.push(received)
    if (marks.length <= windowSteps) return
    if (received - marks.shift()! < leastBytes) onStall()
  }, windowMs / windowSteps)
  return () => clearInterval(timer)
}
