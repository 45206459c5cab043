import type { Context } from '../context.ts'
import { type FieldError, httpErrors, invalid, invalidAttribute } from '../lib/errors.ts'
import { FileNotFoundError } from '../lib/files/files.ts'
import { isId } from '../lib/ids.ts'
import type { Size } from '../media/images.ts'
import type { Length } from '../media/watermark.ts'
import type { Scope } from '../request.ts'
import { idPrefix, imageKey } from '../watermarks/files.ts'
import { findWatermark as findImage } from '../watermarks/store.ts'
import { watermarkKey } from './files.ts'
import type { VideoCreation } from './input-schemas.ts'
import type { VideoWatermark } from './tables.ts'

export type WatermarkPayload = NonNullable<VideoCreation['watermark']>

const unknownWatermark = () => invalidAttribute('watermark[id]', 'There is no watermark with this id.')

/** Checks the settings of a watermark and finds its image. */
export async function findWatermark(
  db: Context['db'],
  { environment }: Scope,
  payload: WatermarkPayload,
): Promise<VideoWatermark> {
  const { id } = payload
  const settings = readSettings(payload)
  if (id === undefined) throw invalidAttribute('watermark[id]', 'A watermark needs an id.')
  const image = isId(idPrefix, id) && (await findImage(db, environment, id))
  if (!image) throw unknownWatermark()
  const { width, height, opacity, ...distances } = settings
  const size = {
    ...(width && { width: width === 'initial' ? px(image.width) : width }),
    ...(height && { height: height === 'initial' ? px(image.height) : height }),
  }
  return { id, image: sizeOf(image), position: { ...distances, ...size }, opacity }
}

const px = (value: number): Length => ({ value, unit: 'px' })
const sizeOf = ({ width, height }: Size): Size => ({ width, height })

/** Copies the image to the video, so that its later deletion does not change the video. */
export async function copyWatermark(
  files: Context['files'],
  { id }: VideoWatermark,
  videoId: string,
): Promise<void> {
  try {
    await files.copy(imageKey(id), watermarkKey(videoId))
  } catch (error) {
    // It was deleted a moment ago.
    throw error instanceof FileNotFoundError ? unknownWatermark() : error
  }
}

type Settings = {
  top?: Length
  left?: Length
  bottom?: Length
  right?: Length
  width?: Length | 'initial'
  height?: Length | 'initial'
  opacity: number
}

/** Throws one error with all problems. */
export function readSettings(payload: Omit<WatermarkPayload, 'id'>): Settings {
  const settings: Settings = { opacity: 1 }
  const problems: FieldError[] = []
  const reject = (field: string, expected: string) => {
    const name = `watermark[${field}]`
    problems.push({ kind: httpErrors.invalidAttribute, title: `"${name}" must be ${expected}.`, name })
  }
  for (const side of ['top', 'left', 'bottom', 'right'] as const) {
    if (payload[side] === undefined) continue
    const length = readLength(payload[side])
    if (length) settings[side] = length
    else reject(side, 'a distance such as 10px or 2.5%, at most 100%')
  }
  for (const side of ['width', 'height'] as const) {
    if (payload[side] === undefined) continue
    const length = payload[side] === 'initial' ? 'initial' : readLength(payload[side])
    if (length === 'initial' || (length && length.value > 0)) settings[side] = length
    else reject(side, 'a size such as 200px or 15%, larger than 0 and at most 100%, or "initial"')
  }
  if (payload.opacity !== undefined) {
    const opacity = readLength(payload.opacity)
    if (opacity?.unit === '%') settings.opacity = opacity.value / 100
    else reject('opacity', 'a percentage from 0% to 100%')
  }
  const [first, ...rest] = problems
  if (first) throw invalid([first, ...rest])
  return settings
}

/** Undefined if the text is not a number of pixels or a percentage up to 100. */
function readLength(text: string): Length | undefined {
  const [, number, unit] = /^(\d{1,5}(?:\.\d{1,3})?)(px|%)$/.exec(text) ?? []
  const value = Number(number)
  if (unit === 'px') return { value, unit }
  return unit === '%' && value <= 100 ? { value, unit } : undefined
}
