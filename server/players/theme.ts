import type { PlayerRow } from './tables.ts'

export const colourDefaults = {
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

export type Style = typeof colourDefaults & typeof flagDefaults

export const colours = Object.keys(colourDefaults) as (keyof typeof colourDefaults)[]
export const flags = Object.keys(flagDefaults) as (keyof typeof flagDefaults)[]

/** What was not chosen is as by default, also where the choice came later than the theme. */
export const fillStyle = (chosen: Partial<Style> | null): Style => ({
  ...colourDefaults,
  ...flagDefaults,
  ...chosen,
})

/** The name is of the content, so that another logo is at another address. */
export const logoPath = ({ id, logo_name: name }: Pick<PlayerRow, 'id' | 'logo_name'>) =>
  name === null ? null : `/players/${id}/logo/${name}`
