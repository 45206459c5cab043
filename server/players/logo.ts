import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { ApiError, fileErrors, invalidAttribute } from '../lib/errors.ts'
import { readMultipart } from '../lib/multipart.ts'
import { readImageSize } from '../media/image-size.ts'

export const maxLogoBytes = 100 * 1024
const maxWidth = 200
const maxHeight = 100
const maxLinkLength = 2_048

export type Logo = { bytes: Buffer; name: string; link: string | null }

/** Reads the body of an upload: a small image, and the URL that it links to. */
export async function readLogo(request: IncomingMessage): Promise<Logo> {
  const { fields, result: bytes } = await readMultipart(request, ({ stream }) => readSmall(stream))
  return makeLogo(bytes, readLink(fields.link))
}

/** Throws if the image is not small, or no image at all. */
export function makeLogo(bytes: Buffer, link: string | null): Logo {
  if (bytes.length === 0) throw new ApiError(fileErrors.empty, { name: 'file' })
  const image = readImageSize(bytes)
  if (!image) {
    const title = 'The file is neither a JPEG nor a PNG image.'
    throw new ApiError(fileErrors.wrongType, { title, name: 'file' })
  }
  const { type, width, height } = image
  if (width > maxWidth || height > maxHeight) {
    const title = `The image has ${width} x ${height} pixels; a logo may have ${maxWidth} x ${maxHeight}.`
    throw new ApiError(fileErrors.tooLarge, { title, name: 'file' })
  }
  const extension = type === 'image/png' ? 'png' : 'jpg'
  const name = `${hash('sha256', bytes, 'hex').slice(0, 16)}.${extension}`
  return { bytes, name, link }
}

async function readSmall(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    size += chunk.length
    if (size > maxLogoBytes) {
      const title = `The file has more than ${maxLogoBytes / 1024} KiB.`
      throw new ApiError(fileErrors.tooLarge, { title, name: 'file' })
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Some clients send the word `undefined` when there is no link. */
export function readLink(link: string | undefined): string | null {
  if (link === undefined || link === '' || link === 'undefined') return null
  const url = link.length <= maxLinkLength && !link.includes('\0') ? URL.parse(link) : null
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw invalidAttribute('link', '"link" must be an http or https URL.')
  return link
}

export const logoType = (name: string) => (name.endsWith('.png') ? 'image/png' : 'image/jpeg')
