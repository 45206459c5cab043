import type { Selectable } from 'kysely'
import { nullable, oneOf, ref, text } from '../lib/http.ts'
import { Pagination } from '../lib/paging.ts'
import { type Static, Type } from '../lib/schema.ts'
import { atom } from '../lib/time.ts'
import { maxColorLength } from './colors.ts'
import type { PlayerRow } from './tables.ts'
import { fillStyle, logoPath } from './theme.ts'

const time = () => Type.String({ format: 'date-time' })

const fields = <T>(schemaOf: (description: string) => T, descriptions: Record<string, string>) =>
  Object.fromEntries(Object.entries(descriptions).map(([name, description]) => [name, schemaOf(description)]))

const colorDescriptions = {
  text: 'Color of text, such as the time.',
  link: 'Color of the buttons.',
  linkHover: 'Color of a button under the pointer.',
  linkActive: 'Color of a pressed button.',
  trackPlayed: 'Color of the played part of the timeline.',
  trackUnplayed: 'Color of the loaded part of the timeline.',
  trackBackground: 'Color of the rest of the timeline.',
  backgroundTop: 'Color behind the title.',
  backgroundBottom: 'Color behind the controls.',
  backgroundText: 'Color of the title.',
}

const flagDescriptions = {
  enableApi: 'Whether the embedding page may control the player.',
  enableControls: 'Whether the controls are shown.',
  forceAutoplay: 'Whether playback starts automatically.',
  hideTitle: 'Whether the title is hidden.',
  forceLoop: 'Whether playback restarts at the end.',
}

type Named<Names, T> = { [name in keyof Names]: T }
type Color = ReturnType<typeof color>
type Flag = ReturnType<typeof flag>
const color = (description: string) => Type.Optional(text(maxColorLength, { description }))
const flag = (description: string) => Type.Optional(Type.Boolean({ description }))

export const PlayerTheme = Type.Object(
  {
    id: Type.String({ description: 'The same as `playerId`.' }),
    playerId: Type.String(),
    name: Type.String(),
    ...(fields((description) => Type.String({ description }), colorDescriptions) as Named<
      typeof colorDescriptions,
      ReturnType<typeof Type.String>
    >),
    ...(fields((description) => Type.Boolean({ description }), flagDescriptions) as Named<
      typeof flagDescriptions,
      ReturnType<typeof Type.Boolean>
    >),
    assets: Type.Object({
      logo: nullable(Type.String({ format: 'uri', description: 'URL of the logo.' })),
      link: nullable(Type.String({ description: 'URL that the logo links to.' })),
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

/** For creation and update: nothing is required. */
export const PlayerPayload = Type.Object({
  name: Type.Optional(text(100, { description: 'For your own use; viewers do not see it.' })),
  ...(fields(color, colorDescriptions) as Named<typeof colorDescriptions, Color>),
  ...(fields(flag, flagDescriptions) as Named<typeof flagDescriptions, Flag>),
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
