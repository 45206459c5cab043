import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import {
  type ApiResponse,
  assertProblem,
  call,
  type FileOptions,
  MiB,
  productionKey,
  sendFile,
  type sharedKinora,
} from './harness.ts'

const chunkBytes = 5 * MiB
export const big = randomBytes(2 * chunkBytes)
export const [first, second] = [big.subarray(0, chunkBytes), big.subarray(chunkBytes)] as const
export const small = randomBytes(10_000)

/** Requests of clients that upload with a token. */
export function tokenUploads(service: ReturnType<typeof sharedKinora>) {
  const createToken = (json: object = {}, prefix = '', key = productionKey) =>
    call(`${service.url}${prefix}/upload-tokens`, { method: 'POST', json, key })

  return {
    createToken,

    async newToken(json: object = {}, prefix = '', key = productionKey): Promise<string> {
      const { status, text, body } = await createToken(json, prefix, key)
      assert.equal(status, 200, text)
      return body.token
    },

    send: (token: string, content: Buffer, options: FileOptions = {}) =>
      sendFile(`${service.url}/upload?token=${token}`, content, { key: '', ...options }),

    /** Creates a tus upload, into an existing video if there is a videoId. Uses the API key if there is no token. */
    createTus: (token: string | undefined, videoId?: string, length = small.length) =>
      call(`${service.url}/tus${token ? `?token=${token}` : ''}`, {
        method: 'POST',
        ...(token && { key: '' }),
        headers: {
          'tus-resumable': '1.0.0',
          'upload-length': String(length),
          ...(videoId && { 'upload-metadata': `videoId ${btoa(videoId)}` }),
        },
      }),
  }
}

/** Sends bytes to a tus upload and returns the status of the response. */
export async function patch(uploadUrl: string | null, content: Buffer, offset = 0): Promise<number> {
  assert.ok(uploadUrl)
  const { status } = await fetch(uploadUrl, {
    method: 'PATCH',
    headers: {
      'tus-resumable': '1.0.0',
      'upload-offset': String(offset),
      'content-type': 'application/offset+octet-stream',
    },
    body: new Uint8Array(content),
  })
  return status
}

export const assertNotFound = (response: ApiResponse) =>
  assertProblem(response, 404, 'resource-not-found', 'videoId')
