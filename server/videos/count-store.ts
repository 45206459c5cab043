import { sql } from 'kysely'
import type { Environment } from '../environments.ts'
import { containing, type Db } from '../lib/db.ts'
import type { Page } from '../lib/paging.ts'
import type { Tables } from '../tables.ts'
import type { sortOrders } from './filters.ts'

/** The number of videos with the tag. The tag '' means all videos. */
export async function countByTag(db: Db<Tables>, environment: Environment, tag: string): Promise<number> {
  const { rows } = await sql<{ total: string }>`
    select coalesce(sum(n), 0) as total from (
      select videos as n from video_counts where environment = ${environment} and tag = ${tag}
      union all
      select change from video_count_changes
      where environment = ${environment} and (${tag} = '' or tags @> array[${tag}])
    ) as c`.execute(db)
  return Number(rows[0]?.total)
}

/** Adds the appended changes to the counts. Any number of processes may do this concurrently. */
export async function mergeCounts(db: Db<Tables>): Promise<void> {
  await sql`
    with merged as (
      delete from video_count_changes
      where ctid = any (array(select ctid from video_count_changes limit 100000 for update skip locked))
      returning environment, tags, change
    )
    insert into video_counts as c (environment, tag, videos)
    select environment, tag, sum(change) from merged, unnest(tags || ''::text) as tag
    group by environment, tag order by environment, tag
    on conflict (environment, tag) do update set videos = c.videos + excluded.videos`.execute(db)
  await sql`delete from video_counts where videos = 0`.execute(db)
}

export type TagFilter = { value?: string }
export type TagOrder = { by: 'value' | 'videoCount'; order: (typeof sortOrders)[number] }

export async function listTags(
  db: Db<Tables>,
  environment: Environment,
  filter: TagFilter,
  { by, order }: TagOrder,
  page: Page,
): Promise<{ tags: { value: string; videoCount: number }[]; total: number }> {
  const fits = filter.value ? sql`fold(tag) like fold(${containing(filter.value)})` : sql`true`
  const orderBy = {
    value: { asc: sql`lower(tag), tag`, desc: sql`lower(tag) desc, tag desc` },
    videoCount: { asc: sql`sum(n), tag`, desc: sql`sum(n) desc, tag desc` },
  }[by][order]
  const { rows } = await sql<{ value: string; videoCount: string; total: string }>`
    select tag as value, sum(n) as "videoCount", count(*) over () as total from (
      select tag, videos as n from video_counts where environment = ${environment} and tag <> '' and ${fits}
      union all
      select tag, change from video_count_changes, unnest(tags) as tag where environment = ${environment} and ${fits}
    ) as c
    group by tag having sum(n) > 0
    order by ${orderBy} limit ${page.pageSize} offset ${page.offset}`.execute(db)
  // A page past the end has no row with the total.
  if (rows.length === 0 && page.offset > 0) {
    const { total } = await listTags(db, environment, filter, { by, order }, { ...page, offset: 0 })
    return { tags: [], total }
  }
  return {
    tags: rows.map(({ value, videoCount }) => ({ value, videoCount: Number(videoCount) })),
    total: Number(rows[0]?.total ?? 0),
  }
}
