import { readFile } from 'node:fs/promises'
import { type ConcurrencyLimit, createConcurrencyLimit } from '../lib/concurrency-limit.ts'
import { ApiError, fileErrors, httpErrors } from '../lib/errors.ts'
import { FileStoreError } from '../lib/files/files.ts'
import { RunError } from '../lib/run.ts'
import { blameOf, failureOf } from './failure.ts'
import { runFfmpeg } from './ffmpeg.ts'
import { type ImageFormat, imageFormatOf, orientationOf } from './images.ts'

export const maxImageBytes = 8 * 1024 * 1024
/** A usual image takes 0.1 s. */
const cpuSeconds = 20
/** More than the largest image that is stored can have. */
const maxOutputBytes = 64 * 1024 * 1024

/**
 * For all images that a process converts. A crafted image can make ffmpeg use hundreds of megabytes, and it has the same
 * priority as the service, so two run at once and few wait.
 */
export const createImageLimit = () => createConcurrencyLimit(2, 20)

/** Part of the context of routes that convert images. */
export type ImageServices = { imageLimit: ConcurrencyLimit }

/** An uploaded image that nothing has decoded yet. */
export type UploadedImage = { path: string; bytes: Buffer; format: ImageFormat; orientation: number }

const formatNames: Record<ImageFormat, string> = { jpeg: 'JPEG', png: 'PNG', webp: 'WebP' }

type Converter = {
  ffmpeg: string
  stallMs: number
  limit: ConcurrencyLimit
  /** Other formats are rejected. */
  formats: readonly ImageFormat[]
}

/**
 * Converts an uploaded image with ffmpeg, because viewers never receive the uploaded bytes. `argsFor` returns the arguments
 * of ffmpeg. It can reject the image by its header, before anything is decoded.
 */
export async function convertImage(
  converter: Converter,
  path: string,
  argsFor: (image: UploadedImage) => string[],
): Promise<UploadedImage> {
  const converted = converter.limit.run(async () => {
    const image = await readImage(path, converter.formats)
    await runConversion(converter, argsFor(image))
    return image
  })
  if (!converted) throw new ApiError(httpErrors.serviceUnavailable, { headers: { 'retry-after': '2' } })
  return converted
}

async function readImage(path: string, formats: readonly ImageFormat[]): Promise<UploadedImage> {
  const bytes = await readFile(path)
  const format = imageFormatOf(bytes)
  if (!format || !formats.includes(format)) {
    const list = new Intl.ListFormat('en-GB', { type: 'disjunction' })
    const title = `The file is not a ${list.format(formats.map((each) => formatNames[each]))} image.`
    throw new ApiError(fileErrors.wrongType, { title, name: 'file' })
  }
  return { path, bytes, format, orientation: format === 'jpeg' ? orientationOf(bytes) : 1 }
}

async function runConversion({ ffmpeg, stallMs }: Converter, args: string[]): Promise<void> {
  try {
    const limits = { cpuSeconds, fileBytes: maxOutputBytes }
    await runFfmpeg({ ffmpeg, stallMs }, args, { limits, priority: 0 })
  } catch (error) {
    if (!(error instanceof RunError)) throw error
    if (/No space left on device/.test(error.stderr)) throw new FileStoreError('full', error)
    const failure = failureOf(error)
    if (failure === 'host') throw error
    // An image that crashes the decoder does so every time.
    if (blameOf(error) === 'environment' && failure !== 'crashed')
      throw new ApiError(httpErrors.serviceUnavailable, { headers: { 'retry-after': '5' }, cause: error })
    throw unreadableImage(error)
  }
}

export function unreadableImage(cause?: unknown): ApiError {
  const title = 'The image cannot be read: it is damaged, incomplete or too large.'
  return new ApiError(fileErrors.invalid, { title, name: 'file', cause })
}
