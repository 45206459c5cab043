import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { Busboy } from '@fastify/busboy'
import { ApiError, fileErrors, invalidPayload } from './errors.ts'
import { clientTooSlow, watchSlowClient } from './slow-client.ts'

export type IncomingFile = {
  /** The last segment of the name that the client sent. Undefined or empty if it sent none. */
  filename: string | undefined
  stream: Readable
  /** The text fields before the file. */
  fields: Record<string, string>
}

/**
 * Reads a body with one file, in a field of any name, and text fields before or after it. `onFile` gets the file as it
 * arrives and must read it to its end. Only the fields are kept in memory.
 */
export async function readMultipart<T>(
  request: IncomingMessage,
  onFile: (file: IncomingFile) => Promise<T>,
): Promise<{ fields: Record<string, string>; result: T }> {
  const contentType = request.headers['content-type'] ?? ''
  if (!/^multipart\/form-data\b/i.test(contentType)) {
    throw invalidPayload('The body must be multipart/form-data with the file in it.')
  }
  // A destroyed stream emits no more events, so a client that disconnected during authorization is noticed here.
  if (request.destroyed && !request.complete) throw invalidFile()
  const parser = openParser(contentType)
  const fields: Record<string, string> = {}
  let work: Promise<T> | undefined
  let current: Readable | undefined
  try {
    await new Promise<void>((resolve, reject) => {
      parser.on('field', (name, value) => {
        fields[name] = value
      })
      parser.on('file', (_field, stream, filename) => {
        current = stream
        // The parser destroys the stream with an error, which would end the process without a listener.
        stream.on('error', () => {})
        work = onFile({ filename, stream, fields: { ...fields } })
        work.catch(reject)
      })
      parser.on('finish', resolve)
      rejectOnFailure(request, parser, reject)
      request.pipe(parser)
    })
  } catch (error) {
    request.unpipe(parser)
    current?.destroy(error as Error)
    parser.destroy()
    // The rest of the body is read and discarded, so that the client can read the response.
    request.resume()
    await work?.catch(() => {})
    throw error
  }
  if (!work) throw new ApiError(fileErrors.missing, { name: 'file' })
  return { fields, result: await work }
}

const invalidFile = () => new ApiError(fileErrors.invalid, { name: 'file' })

function rejectOnFailure(
  request: IncomingMessage,
  parser: ReturnType<typeof openParser>,
  reject: (error: ApiError) => void,
): void {
  const rejectInvalid = () => reject(invalidFile())
  const stopWatching = watchSlowClient(request, () => reject(clientTooSlow()))
  parser.on('filesLimit', () => reject(new ApiError(fileErrors.multiple, { name: 'file' })))
  parser.on('fieldsLimit', () => reject(invalidPayload('There are too many fields in the body.')))
  parser.on('partsLimit', () => reject(invalidPayload('There are too many parts in the body.')))
  parser.on('error', rejectInvalid)
  request.on('aborted', rejectInvalid)
  request.on('error', rejectInvalid)
  request.on('close', () => {
    stopWatching()
    if (!request.complete) rejectInvalid()
  })
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
