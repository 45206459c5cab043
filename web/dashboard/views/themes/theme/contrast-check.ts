import type { ThemeColor } from '../../../api/themes.ts'
import { blend, type Color, contrast } from './color.ts'

export type Weakness = { color: ThemeColor; ratio: number; needed: number }

const white: Color = { r: 255, g: 255, b: 255, a: 1 }
const black: Color = { r: 0, g: 0, b: 0, a: 1 }

/** WCAG 2.2 AA: 4.5 for text, 3 for buttons. */
const pairs: { front: ThemeColor; back: ThemeColor; needed: number }[] = [
  { front: 'text', back: 'backgroundBottom', needed: 4.5 },
  { front: 'backgroundText', back: 'backgroundTop', needed: 4.5 },
  { front: 'link', back: 'backgroundBottom', needed: 3 },
  { front: 'linkHover', back: 'backgroundBottom', needed: 3 },
  { front: 'linkActive', back: 'backgroundBottom', needed: 3 },
]

/** Anything between white and black may be behind the controls, so the worse of the two counts. */
export function findWeaknesses(colors: Record<ThemeColor, Color | undefined>): Weakness[] {
  return pairs.flatMap(({ front, back, needed }) => {
    const [text, shade] = [colors[front], colors[back]]
    if (!text || !shade) return []
    const ratios = [white, black].map((video) => {
      const background = blend(shade, video)
      return contrast(blend(text, background), background)
    })
    const ratio = Math.min(...ratios)
    return ratio < needed ? [{ color: front, ratio, needed }] : []
  })
}
