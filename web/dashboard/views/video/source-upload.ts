import type { Upload } from 'tus-js-client'
import { apiPath, csrfHeaders, type Environment } from '../../api/client.ts'

/** Many proxies reject or buffer larger requests. */
const chunkBytes = 32 * 1024 * 1024
/** A lost connection or a restart of the server. */
const retryDelays = [0, 1_000, 3_000, 5_000, 10_000, 20_000]

export type SourceUpload = { state: 'idle' | 'sending' | 'failed'; share: number; error: Error | undefined }

const idle: SourceUpload = { state: 'idle', share: 0, error: undefined }
const uploads = new Map<string, SourceUpload>()
const listeners = new Set<() => void>()
const keyOf = (environment: Environment, videoId: string) => `${environment}/${videoId}`

export function subscribeToUploads(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const readUpload = (environment: Environment, videoId: string) =>
  uploads.get(keyOf(environment, videoId)) ?? idle

/**
 * Sends a file into a video that has no content. It goes on while other views are shown. After the page was closed, the
 * same file continues where it stopped.
 */
export async function uploadSource(environment: Environment, videoId: string, file: File): Promise<void> {
  const key = keyOf(environment, videoId)
  const set = (change: Partial<SourceUpload>) => {
    uploads.set(key, { ...readUpload(environment, videoId), ...change })
    for (const listener of listeners) listener()
  }
  set({ state: 'sending', share: 0, error: undefined })
  const onError = (error: Error) => set({ state: 'failed', error })
  try {
    const upload = await createUpload(environment, videoId, file, {
      onProgress: (sent, total) => set({ share: total > 0 ? sent / total : 0 }),
      onSuccess: () => set(idle),
      onError: (error) => onError(messageOf(error)),
    })
    const [previous] = await upload.findPreviousUploads()
    if (previous) upload.resumeFromPreviousUpload(previous)
    upload.start()
  } catch (error) {
    onError(error as Error)
  }
}

type Events = Pick<ConstructorParameters<typeof Upload>[1], 'onProgress' | 'onSuccess' | 'onError'>

async function createUpload(environment: Environment, videoId: string, file: File, events: Events) {
  const { Upload } = await import('tus-js-client')
  return new Upload(file, {
    endpoint: `${location.origin}/dashboard${apiPath(environment, '/tus')}`,
    metadata: { filename: file.name, videoId },
    chunkSize: chunkBytes,
    retryDelays,
    fingerprint: async () =>
      ['kinora', environment, videoId, file.name, file.size, file.lastModified].join(' '),
    removeFingerprintOnSuccess: true,
    onBeforeRequest: (request) => {
      for (const [name, value] of Object.entries(csrfHeaders())) request.setHeader(name, value)
    },
    ...events,
  })
}

/** The sentence of the API, if the server answered. */
function messageOf(error: Error): Error {
  const { originalResponse } = error as { originalResponse?: { getBody(): string } | null }
  try {
    const { detail, title } = JSON.parse(originalResponse?.getBody() ?? '')
    return new Error(detail ?? title)
  } catch {
    return error
  }
}
