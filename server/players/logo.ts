import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { ApiError, fileErrors, invalidAttribute } from '../lib/errors.ts'
import { readMultipart } from '../lib/multipart.ts'
import { readPicture } from './image-size.ts'

const mostBytes = 100 * 1024
const mostWidth = 200
const mostHeight = 100
const longestLink = 2_048

export type Logo = { bytes: Buffer; name: string; link: string | null }

/** Reads the body of an upload: a small picture, and where it leads. */
export async function readLogo(request: IncomingMessage): Promise<Logo> {
  const { fields, result: bytes } = await readMultipart(request, ({ stream }) => readSmall(stream))
  if (bytes.length === 0) throw new ApiError(fileErrors.empty, { name: 'file' })
  const picture = readPicture(bytes)
  if (!picture) {
    const title = 'The file is neither a JPEG nor a PNG picture.'
    throw new ApiError(fileErrors.wrongType, { title, name: 'file' })
  }
  const { type, width, height } = picture
  if (width > mostWidth || height > mostHeight) {
    const title = `The picture has ${width} x ${height} pixels; a logo may have ${mostWidth} x ${mostHeight}.`
    throw new ApiError(fileErrors.tooLarge, { title, name: 'file' })
  }
  const extension = type === 'image/png' ? 'png' : 'jpg'
  const name = `${hash('sha256', bytes, 'hex').slice(0, 16)}.${extension}`
  return { bytes, name, link: readLink(fields.link) }
}

async function readSmall(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    size += chunk.length
    if (size > mostBytes) {
      const title = `The file has more than ${mostBytes / 1024} KiB.`
      throw new ApiError(fileErrors.tooLarge, { title, name: 'file' })
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** A client that was given no link sends the word `undefined`. */
function readLink(link: string | undefined): string | null {
  if (link === undefined || link === '' || link === 'undefined') return null
  const url = link.length <= longestLink && !link.includes('\0') ? URL.parse(link) : null
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw invalidAttribute('link', '"link" must be an http or https address.')
  return link
}

export const logoType = (name: string) => (name.endsWith('.png') ? 'image/png' : 'image/jpeg')
