import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { ClientError } from './client.ts'

type Download = { status: number; headers: Headers; body: AsyncIterable<Buffer> }

/** A file of the service. Throws if there is none, unless `mayBeMissing`. */
export async function download(
  url: string,
  { key, mayBeMissing = false }: { key?: string; mayBeMissing?: boolean } = {},
): Promise<Download> {
  const headers =
    key === undefined ? {} : { authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}` }
  const response = await fetch(url, { headers }).catch((error) => {
    throw new ClientError(`${url} cannot be reached: ${error.cause?.message ?? error.message}.`)
  })
  const { status } = response
  if (!response.ok && !(mayBeMissing && status === 404)) {
    await response.body?.cancel()
    throw new ClientError(`${new URL(url).pathname} responded with ${status}.`)
  }
  const body = response.body ? Readable.fromWeb(response.body as ReadableStream) : Readable.from([])
  return { status, headers: response.headers, body: withClientErrors(body) }
}

async function* withClientErrors(body: Readable): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of body) yield Buffer.from(chunk)
  } catch (error) {
    throw new ClientError(`The download ended early: ${(error as Error).message}.`)
  }
}
