import type { Size } from './images.ts'

/** `px` are pixels of the source as it is displayed, `%` a part of its width or height. */
export type Length = { value: number; unit: 'px' | '%' }

/** Where a watermark is shown, and how large. */
export type WatermarkPosition = {
  top?: Length
  left?: Length
  bottom?: Length
  right?: Length
  width?: Length
  height?: Length
}

/** A rectangle in fractions of the width and height of the frame, so that it applies to every quality. */
export type Area = { left: number; top: number; width: number; height: number }

/**
 * `top` and `left` take precedence over `bottom` and `right`. With one of `width` and `height`, the image keeps its aspect
 * ratio; with neither, its size. The watermark is always inside of the frame: it is scaled down if it is too large, and
 * moved if it would be cut.
 */
export function placeWatermark(image: Size, position: WatermarkPosition, frame: Size): Area {
  const horizontal = (length: Length) => pixels(length, frame.width)
  const vertical = (length: Length) => pixels(length, frame.height)
  const { left, right, top, bottom } = position
  const size = sizeOf(image, position, frame)
  const scale = Math.min(1, frame.width / size.width, frame.height / size.height)
  const [width, height] = [size.width * scale, size.height * scale]
  const space = { x: frame.width - width, y: frame.height - height }
  const x = left ? horizontal(left) : right ? space.x - horizontal(right) : 0
  const y = top ? vertical(top) : bottom ? space.y - vertical(bottom) : 0
  return {
    left: clamp(x, space.x) / frame.width,
    top: clamp(y, space.y) / frame.height,
    width: width / frame.width,
    height: height / frame.height,
  }
}

function sizeOf(image: Size, position: WatermarkPosition, frame: Size): Size {
  const width = position.width && pixels(position.width, frame.width)
  const height = position.height && pixels(position.height, frame.height)
  const aspect = image.width / image.height
  if (width !== undefined) return { width, height: height ?? width / aspect }
  return height === undefined ? image : { width: height * aspect, height }
}

const pixels = ({ value, unit }: Length, whole: number) => (unit === '%' ? (value / 100) * whole : value)

const clamp = (value: number, max: number) => Math.max(0, Math.min(value, max))

/** The pixels of an area in a frame. */
export function pixelsOf(area: Area, frame: Size): { x: number; y: number } & Size {
  const side = (fraction: number, whole: number) => Math.min(whole, Math.max(2, Math.round(fraction * whole)))
  const [width, height] = [side(area.width, frame.width), side(area.height, frame.height)]
  return {
    x: Math.min(Math.round(area.left * frame.width), frame.width - width),
    y: Math.min(Math.round(area.top * frame.height), frame.height - height),
    width,
    height,
  }
}
