import type { Selectable } from 'kysely'
import { exampleId, idField, sortByField, sortOrderField, timeField } from '../lib/fields.ts'
import { nullable, ref, text } from '../lib/http.ts'
import { listOf } from '../lib/paging.ts'
import { type Static, Type } from '../lib/schema.ts'
import { formatTime } from '../lib/time.ts'
import { maxColorLength } from './colors.ts'
import type { PlayerRow } from './tables.ts'
import { colorDefaults, fillStyle, flagDefaults, logoPath } from './theme.ts'

type Described<V> = { description: string; examples: V[] }

/** The example of each attribute is its default. */
const fields = <T, V>(
  schemaOf: (options: Described<V>) => T,
  descriptions: Record<string, string>,
  defaults: Record<string, V>,
) =>
  Object.fromEntries(
    Object.entries(descriptions).map(([name, description]) => [
      name,
      schemaOf({ description, examples: [defaults[name]!] }),
    ]),
  )

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
const color = (options: object) => Type.Optional(text(maxColorLength, options))
const flag = (options: Described<boolean>) => Type.Optional(Type.Boolean(options))

export const PlayerTheme = Type.Object(
  {
    id: idField('pl', 'The same as `playerId`.'),
    playerId: idField('pl', 'Id of the player theme.'),
    name: Type.String({
      description: 'For your own use; viewers do not see it.',
      examples: ['Brand colors'],
    }),
    ...(fields((options) => Type.String(options), colorDescriptions, colorDefaults) as Named<
      typeof colorDescriptions,
      ReturnType<typeof Type.String>
    >),
    ...(fields((options) => Type.Boolean(options), flagDescriptions, flagDefaults) as Named<
      typeof flagDescriptions,
      ReturnType<typeof Type.Boolean>
    >),
    assets: Type.Object(
      {
        logo: nullable(
          Type.String({
            format: 'uri',
            description: 'URL of the logo. Null if there is none.',
            examples: [`https://video.example.com/players/${exampleId('pl')}/logo/3f1c0a.png`],
          }),
        ),
        link: nullable(
          Type.String({ description: 'URL that the logo links to.', examples: ['https://example.com'] }),
        ),
      },
      { description: 'The logo of the theme.' },
    ),
    createdAt: timeField('When the theme was created.'),
    updatedAt: timeField('When the theme was last changed.'),
  },
  { $id: 'PlayerTheme', description: 'Colors and options of the player.' },
)
export type PlayerTheme = Static<typeof PlayerTheme>

export const PlayerThemeList = listOf(ref(PlayerTheme), 'PlayerThemeList')

/** For creation and update: nothing is required. */
export const PlayerPayload = Type.Object(
  {
    name: Type.Optional(
      text(100, { description: 'For your own use; viewers do not see it.', examples: ['Brand colors'] }),
    ),
    ...(fields(color, colorDescriptions, colorDefaults) as Named<typeof colorDescriptions, Color>),
    ...(fields(flag, flagDescriptions, flagDefaults) as Named<typeof flagDescriptions, Flag>),
  },
  { examples: [{ name: 'Brand colors', link: 'rgba(255, 204, 0, 1)', trackPlayed: 'rgba(255, 204, 0, 1)' }] },
)
export type PlayerPayload = Static<typeof PlayerPayload>

export const sortKeys = ['name', 'createdAt', 'updatedAt'] as const

export const playerOrder = {
  sortBy: sortByField(sortKeys, 'createdAt'),
  sortOrder: sortOrderField('desc'),
}

export function viewPlayer(row: Omit<Selectable<PlayerRow>, 'logo'>, publicUrl: string): PlayerTheme {
  const logo = logoPath(row)
  return {
    id: row.id,
    playerId: row.id,
    name: row.name,
    ...fillStyle(row.style),
    assets: { logo: logo && publicUrl + logo, link: row.logo_link },
    createdAt: formatTime(row.created_at),
    updatedAt: formatTime(row.updated_at),
  }
}
