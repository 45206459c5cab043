import { type Selectable, sql } from 'kysely'
import type { PlayableRow } from '../encoding/renditions/playable.ts'
import { playableColumns, playableTables } from '../encoding/renditions/playable-store.ts'
import type { Environment } from '../environments.ts'
import { type Db, listPage, prepare } from '../lib/db.ts'
import type { Page } from '../lib/paging.ts'
import { gapless } from '../playback/store.ts'
import type { Tables } from '../tables.ts'
import type { TextTrackRow } from '../text-tracks/tables.ts'
import type { sortKeys } from './schemas.ts'
import type { PlayerRow } from './tables.ts'
import type { Style } from './theme.ts'

/** All but the content of the logo. */
const columns = [
  'id',
  'environment',
  'name',
  'style',
  'logo_name',
  'logo_link',
  'created_at',
  'updated_at',
] as const satisfies (keyof PlayerRow)[]

export type StoredPlayer = Pick<Selectable<PlayerRow>, (typeof columns)[number]>

export async function insertPlayer(db: Db<Tables>, row: StoredPlayer): Promise<void> {
  await db
    .insertInto('players')
    .values({ ...row, style: JSON.stringify(row.style), logo: null })
    .execute()
}

const sortColumns = {
  name: sql`lower(name)`,
  createdAt: sql.ref('created_at'),
  updatedAt: sql.ref('updated_at'),
}

export async function listPlayers(
  db: Db<Tables>,
  environment: Environment,
  { by, order }: { by: (typeof sortKeys)[number]; order: 'asc' | 'desc' },
  page: Page,
): Promise<{ players: StoredPlayer[]; total: number }> {
  const all = db.selectFrom('players').where('environment', '=', environment)
  const { rows: players, total } = await listPage(
    db,
    all,
    (q) => q.select(columns).orderBy(sortColumns[by], order).orderBy('id', order),
    page,
  )
  return { players, total }
}

export function findPlayer(
  db: Db<Tables>,
  environment: Environment,
  id: string,
): Promise<StoredPlayer | undefined> {
  return db
    .selectFrom('players')
    .select(columns)
    .where('id', '=', id)
    .where('environment', '=', environment)
    .executeTakeFirst()
}

export type PlayerChange = {
  name?: string | undefined
  style?: Partial<Style>
  logo?: Buffer | null
  logo_name?: string | null
  logo_link?: string | null
}

/** The style is merged in the database, so that concurrent changes both count. Undefined when there is no such theme. */
export function updatePlayer(
  db: Db<Tables>,
  environment: Environment,
  id: string,
  { style, ...change }: PlayerChange,
  now: Date,
): Promise<StoredPlayer | undefined> {
  return db
    .updateTable('players')
    .set({ ...change, updated_at: now })
    .$if(style !== undefined, (q) => q.set({ style: sql`style || ${JSON.stringify(style)}::jsonb` }))
    .where('id', '=', id)
    .where('environment', '=', environment)
    .returning(columns)
    .executeTakeFirst()
}

export async function deletePlayer(db: Db<Tables>, environment: Environment, id: string): Promise<boolean> {
  const deleted = await db
    .deleteFrom('players')
    .where('id', '=', id)
    .where('environment', '=', environment)
    .returning('id')
    .executeTakeFirst()
  return deleted !== undefined
}

export async function findLogo(db: Db<Tables>, id: string, name: string): Promise<Buffer | undefined> {
  const row = await db
    .selectFrom('players')
    .select('logo')
    .where('id', '=', id)
    .where('logo_name', '=', name)
    .executeTakeFirst()
  return row?.logo ?? undefined
}

type PageTrack = Pick<TextTrackRow, 'kind' | 'language'> & { isDefault: boolean }

/** The content of a video's player page. */
export type PageRow = PlayableRow & {
  id: string
  environment: Environment
  public: boolean
  title: string
  description: string
  panoramic: boolean
  width: number | null
  height: number | null
  /** Nothing has been uploaded, and no upload is in progress. */
  isEmpty: boolean
  hasMp4: boolean
  hasThumbnail: boolean
  hasSprites: boolean
  /** While the video is being encoded: the segments of each rendition, without a gap from the first one on. */
  segments: Record<string, number> | null
  /** Captions and chapters, by language. */
  tracks: PageTrack[]
  player: PagePlayer | null
}

/** The theme of a player page. */
export type PagePlayer = Pick<PlayerRow, 'id' | 'logo_name' | 'logo_link'> & { style: Partial<Style> }

/** The theme in the table `players p`, or null. */
export const playerColumn = `case when p.id is not null then jsonb_build_object(
  'id', p.id, 'style', p.style, 'logo_name', p.logo_name, 'logo_link', p.logo_link) end as player`

const page = prepare<PageRow>(
  'find-page',
  `select v.id, v.environment, v.public, v.title, v.description, v.panoramic, v.width, v.height,
     ${playableColumns},
     v.source_type = 'upload' and e.video_id is null and (s.video_id is null
       or s.state = 'receiving' and s.received_pieces = 0 and s.arriving_bytes is null and not exists (
         select from source_pieces where video_id = $1 and lease_until > now())) as "isEmpty",
     v.mp4_support and exists (
       select from renditions
       where video_id = $1 and type = 'mp4' and state = 'encoded' and key is not null) as "hasMp4",
     pictures.thumbnail_key is not null as "hasThumbnail", pictures.sprites is not null as "hasSprites",
     (select coalesce(jsonb_agg(jsonb_build_object(
          'kind', kind, 'language', language, 'isDefault', is_default) order by language), '[]')
        from text_tracks where video_id = $1) as tracks,
     case when e.state = 'encoding' then (
       select jsonb_object_agg(rendition, segments) from (${gapless('video_id = $1')}) runs) end as segments,
     ${playerColumn}
   from ${playableTables}
   left join pictures on pictures.video_id = v.id
   left join players p on p.id = v.player_id
   where v.id = $1`,
)

/** In one statement, as a viewer waits for it. */
export async function findPage(db: Db<Tables>, videoId: string): Promise<PageRow | undefined> {
  const [row] = await page(db, [videoId])
  return row
}
