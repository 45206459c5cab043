/** Components from 0 to 255, alpha from 0 to 1. */
export type Color = { r: number; g: number; b: number; a: number }

let canvas: CanvasRenderingContext2D | null | undefined

/** Reads any CSS color, or returns undefined. A canvas writes it as `#rrggbb` or `rgba(r, g, b, a)`. */
export function parseColor(text: string): Color | undefined {
  if (!CSS.supports('color', text)) return undefined
  canvas ??= document.createElement('canvas').getContext('2d')
  if (!canvas) return undefined
  canvas.fillStyle = text
  return parseCanonical(canvas.fillStyle)
}

function parseCanonical(text: string): Color | undefined {
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(text)
  if (hex) {
    const [r = 0, g = 0, b = 0] = hex.slice(1).map((part) => Number.parseInt(part, 16))
    return { r, g, b, a: 1 }
  }
  const [r, g, b, a] = (text.match(/[\d.]+/g) ?? []).map(Number)
  if (r === undefined || g === undefined || b === undefined) return undefined
  return { r, g, b, a: a ?? 1 }
}

export const toHex = ({ r, g, b }: Color) =>
  `#${[r, g, b].map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`

export const toRgba = ({ r, g, b, a }: Color) =>
  `rgba(${Math.round(r)}, ${Math.round(g)}, ${Math.round(b)}, ${Math.round(a * 100) / 100})`

/** The color that is seen if the first one is in front of the second one. */
export function blend(front: Color, back: Color): Color {
  const mix = (f: number, b: number) => f * front.a + b * (1 - front.a)
  return { r: mix(front.r, back.r), g: mix(front.g, back.g), b: mix(front.b, back.b), a: 1 }
}

/** The relative luminance of WCAG 2. */
function luminance({ r, g, b }: Color): number {
  const linear = (part: number) => {
    const fraction = part / 255
    return fraction <= 0.04045 ? fraction / 12.92 : ((fraction + 0.055) / 1.055) ** 2.4
  }
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
}

/** The contrast ratio of WCAG 2, from 1 to 21. */
export function contrast(one: Color, other: Color): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].sort((x, y) => x - y)
  return (high + 0.05) / (low + 0.05)
}
