import { randomUUID } from 'node:crypto'
import { Server } from '@tus/server'
import { ApiError, httpErrors } from '../../lib/errors.ts'
import type { UploadContext } from '../source/coordinator.ts'
import { type Creator, createUpload, uploadIdOf, videoIdOf } from './create.ts'
import { TusDataStore } from './datastore.ts'
import { maxUploadBytes } from './headers.ts'
import { type ActiveRequests, createLock, createReadLock } from './lock.ts'
import type { Checksum } from './write.ts'

type TusOptions = {
  context: UploadContext
  activeRequests: ActiveRequests
  /** URLs of uploads begin with it. */
  baseUrl: string
  /** Set for requests that create an upload. */
  creator: Creator | undefined
  method: string
  checksum: Checksum | undefined
}

export type TusResult = {
  response: Response
  /** The upload that the request has created. */
  createdId: string | undefined
  /** The reason for an error response. */
  error: unknown
}

/** Creates a server for each request, because @tus/server has no other way to pass on who sent it. */
export async function runTusServer(options: TusOptions, request: Request): Promise<TusResult> {
  const { context, activeRequests, creator } = options
  const lockOwner = randomUUID()
  let createdId: string | undefined
  let error: unknown
  const server = new Server({
    path: '/tus',
    datastore: new TusDataStore(context, { lockOwner, checksum: options.checksum }),
    maxSize: maxUploadBytes,
    disableTerminationForFinishedUploads: true,
    // When another request asks for the upload, this one ends after this many milliseconds with the received bytes.
    lockDrainTimeout: 200,
    locker: {
      newLock(id) {
        const videoId = videoIdOf(id)
        if (options.method === 'HEAD') return createReadLock(context, videoId, activeRequests)
        return createLock(context, videoId, lockOwner, activeRequests)
      },
    },
    async namingFunction(creation) {
      if (!creator) throw new ApiError(httpErrors.notFound, { name: 'upload' })
      const length = creation.headers.get('upload-length')
      const metadata = creation.headers.get('upload-metadata') ?? ''
      const source = await createUpload(context, creator, metadata, length === null ? null : Number(length))
      createdId = uploadIdOf(source)
      return createdId
    },
    generateUrl: (_request, { id }) => `${options.baseUrl}/${id}`,
    onResponseError(_request, reason) {
      error = reason
      return isTusError(reason) ? undefined : { status_code: 500, body: '' }
    },
  })
  const response = await server.handleWeb(request)
  return { response, createdId, error }
}

/** An error of @tus/server itself, which has turned it into a response. */
export const isTusError = (error: unknown) =>
  !(error instanceof ApiError) && typeof (error as { status_code?: unknown }).status_code === 'number'
