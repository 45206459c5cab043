import type { Colors } from './player-config.ts'

/** The CSS property of each published color name. */
const properties: Record<keyof Colors, string> = {
  text: '--text',
  link: '--link',
  linkHover: '--link-hover',
  linkActive: '--link-active',
  trackPlayed: '--track-played',
  trackUnplayed: '--track-unplayed',
  trackBackground: '--track-background',
  backgroundTop: '--background-top',
  backgroundBottom: '--background-bottom',
  backgroundText: '--background-text',
}

/**
 * Colors are untrusted text: invalid ones are ignored. They are set one by one, because the content security policy of
 * the page does not allow style attributes.
 */
export function applyColors(host: HTMLElement, colors: Partial<Colors>): void {
  for (const [name, property] of Object.entries(properties)) {
    const value = colors[name as keyof Colors]
    if (typeof value === 'string' && CSS.supports('color', value)) host.style.setProperty(property, value)
  }
}
