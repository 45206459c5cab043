import { type FieldError, httpErrors, invalid } from '../lib/errors.ts'
import { isColor } from './colors.ts'
import type { PlayerPayload } from './schemas.ts'
import { colors, flags, type Style } from './theme.ts'

/** The colors and flags of a request. Throws 400 for those that are none. */
export function readStyle(payload: PlayerPayload): Partial<Style> {
  const style: Partial<Style> = {}
  const problems: FieldError[] = []
  for (const name of colors) {
    const color = payload[name]
    if (color === undefined) continue
    if (isColor(color)) style[name] = color
    else {
      const title = `"${name}" must be a CSS color, such as rgba(88, 131, 255, .95) or #5883ff.`
      problems.push({ kind: httpErrors.invalidAttribute, title, name })
    }
  }
  for (const name of flags) if (payload[name] !== undefined) style[name] = payload[name]
  const [first, ...rest] = problems
  if (first) throw invalid([first, ...rest])
  return style
}
