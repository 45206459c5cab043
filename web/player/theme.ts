import type { Colours } from './config.ts'

/** The published names of colours, and where style.css reads them. */
const properties: Record<keyof Colours, string> = {
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
 * Colours are free text that others wrote: what is no colour is left out. Set property by property, as the page's
 * policy lets no style attribute through.
 */
export function applyColours(host: HTMLElement, colours: Partial<Colours>): void {
  for (const [name, property] of Object.entries(properties)) {
    const value = colours[name as keyof Colours]
    if (typeof value === 'string' && CSS.supports('color', value)) host.style.setProperty(property, value)
  }
}
