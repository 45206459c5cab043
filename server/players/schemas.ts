import type { Selectable } from 'kysely'
import { nullable, oneOf, ref, text } from '../lib/http.ts'
import { Pagination } from '../lib/paging.ts'
import { type Static, Type } from '../lib/schema.ts'
import { atom } from '../lib/time.ts'
import { longestColour } from './colours.ts'
import type { PlayerRow } from './tables.ts'
import { fillStyle, logoPath } from './theme.ts'

const time = () => Type.String({ format: 'date-time' })

const fields = <T>(of: (description: string) => T, meanings: Record<string, string>) =>
  Object.fromEntries(Object.entries(meanings).map(([name, meaning]) => [name, of(meaning)]))

const colourMeanings = {
  text: 'Colour of texts, such as the time.',
  link: 'Colour of the buttons.',
  linkHover: 'Colour of a button below the pointer.',
  linkActive: 'Colour of a button that is pressed.',
  trackPlayed: 'Colour of the time line, where it was played.',
  trackUnplayed: 'Colour of the time line, where it is loaded.',
  trackBackground: 'Colour of the rest of the time line.',
  backgroundTop: 'Colour behind the title, at the top.',
  backgroundBottom: 'Colour behind the controls, at the bottom.',
  backgroundText: 'Colour of the title.',
}

const flagMeanings = {
  enableApi: 'Whether the page around the player may drive it.',
  enableControls: 'Whether there are controls.',
  forceAutoplay: 'Whether it plays by itself.',
  hideTitle: 'Whether the title is left out.',
  forceLoop: 'Whether it begins anew at its end.',
}

type Named<Names, T> = { [name in keyof Names]: T }
type Colour = ReturnType<typeof colour>
type Flag = ReturnType<typeof flag>
const colour = (description: string) => Type.Optional(text(longestColour, { description }))
const flag = (description: string) => Type.Optional(Type.Boolean({ description }))

export const PlayerTheme = Type.Object(
  {
    id: Type.String({ description: 'The same as `playerId`.' }),
    playerId: Type.String(),
    name: Type.String(),
    ...(fields((description) => Type.String({ description }), colourMeanings) as Named<
      typeof colourMeanings,
      ReturnType<typeof Type.String>
    >),
    ...(fields((description) => Type.Boolean({ description }), flagMeanings) as Named<
      typeof flagMeanings,
      ReturnType<typeof Type.Boolean>
    >),
    assets: Type.Object({
      logo: nullable(Type.String({ format: 'uri', description: 'Address of the logo.' })),
      link: nullable(Type.String({ description: 'Where the logo leads.' })),
    }),
    createdAt: time(),
    updatedAt: time(),
  },
  { $id: 'PlayerTheme' },
)
export type PlayerTheme = Static<typeof PlayerTheme>

export const PlayerThemeList = Type.Object(
  { data: Type.Array(ref(PlayerTheme)), pagination: ref(Pagination) },
  { $id: 'PlayerThemeList' },
)

/** Of a creation and of an update alike: nothing is required. */
export const PlayerPayload = Type.Object({
  name: Type.Optional(text(100, { description: 'For yourself; viewers do not see it.' })),
  ...(fields(colour, colourMeanings) as Named<typeof colourMeanings, Colour>),
  ...(fields(flag, flagMeanings) as Named<typeof flagMeanings, Flag>),
})
export type PlayerPayload = Static<typeof PlayerPayload>

export const sortKeys = ['name', 'createdAt', 'updatedAt'] as const

export const playerOrder = {
  sortBy: Type.Optional(oneOf(sortKeys, { default: 'createdAt' })),
  sortOrder: Type.Optional(oneOf(['asc', 'desc'], { default: 'desc' })),
}

export function viewPlayer(row: Omit<Selectable<PlayerRow>, 'logo'>, publicUrl: string): PlayerTheme {
  const logo = logoPath(row)
  return {
    id: row.id,
    playerId: row.id,
    name: row.name,
    ...fillStyle(row.style),
    assets: { logo: logo && publicUrl + logo, link: row.logo_link },
    createdAt: atom(row.created_at),
    updatedAt: atom(row.updated_at),
  }
}
