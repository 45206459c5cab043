import type { PlayerRow } from './tables.ts'

export const colorDefaults = {
  text: 'rgba(255, 255, 255, 1)',
  link: 'rgba(255, 255, 255, 1)',
  linkHover: 'rgba(255, 255, 255, 1)',
  linkActive: 'rgba(255, 255, 255, 1)',
  trackPlayed: 'rgba(88, 131, 255, .95)',
  trackUnplayed: 'rgba(255, 255, 255, .35)',
  trackBackground: 'rgba(255, 255, 255, .2)',
  backgroundTop: 'rgba(0, 0, 0, .7)',
  backgroundBottom: 'rgba(0, 0, 0, .7)',
  backgroundText: 'rgba(255, 255, 255, 1)',
}

export const flagDefaults = {
  enableApi: true,
  enableControls: true,
  forceAutoplay: false,
  hideTitle: false,
  forceLoop: false,
}

export type Style = typeof colorDefaults & typeof flagDefaults

export const colors = Object.keys(colorDefaults) as (keyof typeof colorDefaults)[]
export const flags = Object.keys(flagDefaults) as (keyof typeof flagDefaults)[]

/** Options that were added after the theme was created have their default. */
export const fillStyle = (style: Partial<Style> | null): Style => ({
  ...colorDefaults,
  ...flagDefaults,
  ...style,
})

/** The name is a hash of the content, so that another logo has another URL. */
export const logoPath = ({ id, logo_name: name }: Pick<PlayerRow, 'id' | 'logo_name'>) =>
  name === null ? null : `/players/${id}/logo/${name}`
