import type { DetailedError, Upload } from 'tus-js-client'
import { apiPath, csrfHeaders, send } from '../api/client.ts'
import { OfflineError, readProblem } from '../api/problem.ts'
import type { StopTransfer, TransferEvents, TransferSource } from './transfer-types.ts'
import { noteStaleToken, problemOf } from './upload-problem.ts'

/** Many proxies reject or buffer larger requests. */
const chunkBytes = 32 * 1024 * 1024

/** Sends a file, or the part of it that has not arrived yet, from its beginning to its end. */
export function startTusTransfer(source: TransferSource, events: TransferEvents): StopTransfer {
  let isStopped = false
  let upload: Upload | undefined
  const urlSettled = Promise.withResolvers<void>()
  const onError = (error: Error) => {
    urlSettled.resolve()
    if (!isStopped) events.onError(error)
  }
  const onCreated: TransferEvents['onCreated'] = (...facts) => {
    events.onCreated(...facts)
    urlSettled.resolve()
  }
  const start = async () => {
    upload = await createUpload(source, { ...events, onCreated, onError })
    if (isStopped) urlSettled.resolve()
    else upload.start()
  }
  start().catch(onError)
  return async () => {
    isStopped = true
    // A creation that is aborted could leave an empty video that nobody knows of.
    if (!upload?.url) await urlSettled.promise
    await upload?.abort()
  }
}

async function createUpload(
  { environment, file, url, target, watermark }: TransferSource,
  events: TransferEvents,
): Promise<Upload> {
  const { Upload } = await import('tus-js-client').catch((error) => {
    throw new OfflineError(error)
  })
  let videoId: string | undefined
  const upload = new Upload(file, {
    // With an endpoint, an error that passes would create another upload instead of continuing this one.
    ...(url
      ? { uploadUrl: url }
      : { endpoint: `${location.origin}/dashboard${apiPath(environment, '/tus')}` }),
    metadata: {
      filename: file.name,
      ...(target && { videoId: target }),
      ...(watermark && { watermark: JSON.stringify(watermark) }),
    },
    chunkSize: chunkBytes,
    retryDelays: null,
    storeFingerprintForResuming: false,
    onBeforeRequest: (request) => {
      for (const [name, value] of Object.entries(csrfHeaders())) request.setHeader(name, value)
    },
    onAfterResponse: (_, response) => {
      videoId ??= response.getHeader('x-video-id')
    },
    onUploadUrlAvailable: () => events.onCreated(upload.url!, videoId),
    onProgress: events.onProgress,
    onSuccess: events.onDone,
    onError: async (error) => {
      events.onError(await noteStaleToken(toProblem(error)))
    },
  })
  return upload
}

/** The response to a failed request as the error that other requests throw. */
function toProblem(error: Error | DetailedError): Error {
  const response = 'originalResponse' in error ? error.originalResponse : null
  const status = response?.getStatus() ?? 0
  if (!response || status === 0) return new OfflineError(error)
  return problemOf(status, response.getBody(), response.getHeader('retry-after'))
}

/** How many bytes of an upload have arrived. */
export async function readTusOffset(url: string): Promise<number> {
  const response = await fetch(url, { method: 'HEAD', headers: { 'tus-resumable': '1.0.0' } })
  return Number(response.headers.get('upload-offset') ?? 0)
}

/** Cancels an upload. The server also deletes its video. */
export async function removeTusUpload(url: string): Promise<void> {
  const response = await send(url, { method: 'DELETE', headers: { 'tus-resumable': '1.0.0' } })
  if (!response.ok && response.status !== 404 && response.status !== 410) throw await readProblem(response)
}
