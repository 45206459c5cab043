import type { DetailedError, Upload } from 'tus-js-client'
import { apiPath, csrfHeaders, type Environment, renewCsrfToken, send } from '../api/client.ts'
import { ApiProblem, OfflineError, readProblem } from '../api/problem.ts'
import type { WatermarkInput } from '../api/watermarks.ts'

/** Many proxies reject or buffer larger requests. */
const chunkBytes = 32 * 1024 * 1024

export type TransferEvents = {
  onCreated(url: string, videoId: string | undefined): void
  onProgress(sent: number): void
  onDone(): void
  onError(error: Error): void
}

export type TransferSource = {
  environment: Environment
  file: File
  url: string | undefined
  target: string | undefined
  watermark: WatermarkInput | undefined
}

/** Stops the transfer. Resolves when the URL of the upload is known, or will never be. */
export type StopTransfer = () => Promise<void>

/** Sends a file, or the part of it that has not arrived yet. */
export function startTransfer(source: TransferSource, events: TransferEvents): StopTransfer {
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
  // Otherwise a file that was changed or removed looks like a lost connection.
  await file.slice(0, 1).arrayBuffer()
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
      const problem = toProblem(error)
      // The attempt that follows has the token of the present session.
      if (problem instanceof ApiProblem && problem.isStaleToken) await renewCsrfToken().catch(() => {})
      events.onError(problem)
    },
  })
  return upload
}

/** The response to a failed request as the error that other requests throw. */
function toProblem(error: Error | DetailedError): Error {
  const response = 'originalResponse' in error ? error.originalResponse : null
  const status = response?.getStatus() ?? 0
  if (!response || status === 0) return new OfflineError(error)
  const retryAfter = Number(response.getHeader('retry-after'))
  return new ApiProblem(status, readBody(response.getBody()), retryAfter > 0 ? retryAfter : undefined)
}

function readBody(text: string): object {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return {}
  }
}

/** How many bytes of an upload have arrived. Zero if that cannot be found out now. */
export async function readOffset(url: string): Promise<number> {
  const response = await fetch(url, { method: 'HEAD', headers: { 'tus-resumable': '1.0.0' } }).catch(
    () => undefined,
  )
  return Number(response?.headers.get('upload-offset') ?? 0)
}

/** Cancels an upload. The server also deletes its video. */
export async function removeUpload(url: string): Promise<void> {
  const response = await send(url, { method: 'DELETE', headers: { 'tus-resumable': '1.0.0' } })
  if (!response.ok && response.status !== 404 && response.status !== 410) throw await readProblem(response)
}
