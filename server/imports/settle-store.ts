import { sql } from 'kysely'
import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'
import { stateColumn } from '../videos/state-store.ts'

// What becomes of imported videos elsewhere: their files are uploaded, and encoded.

/** Records which files of folders have been uploaded. */
export async function settleUploads(db: Db<Tables>): Promise<void> {
  await sql`
    with uploaded as (
      update import_items i set state = 'encoding', reason = null, updated_at = now()
      from import_runs r
      where r.id = i.run_id and r.service = 'folder' and r.state = 'running' and i.state = 'fetching'
        and i.kind = 'video' and exists (
          select from sources s where s.video_id = i.object_id and s.state in ('received', 'stored', 'dropped'))
      returning i.source_id, r.environment, r.account
    )
    update imported_objects o set is_complete = true, updated_at = now() from uploaded u
    where o.environment = u.environment and o.service = 'folder' and o.account = u.account and o.kind = 'video'
      and o.source_id = u.source_id`.execute(db)
}

/** Ends the items whose files the client of a folder has not uploaded. */
export async function failNotUploaded(db: Db<Tables>, runId: string): Promise<void> {
  await sql`
    update import_items i set state = 'failed', reason = 'The file was not uploaded.', updated_at = now()
    where run_id = ${runId} and state in ('waiting', 'fetching') and not exists (
      select from sources s where s.video_id = i.object_id and s.state in ('received', 'stored', 'dropped'))`.execute(
    db,
  )
}

/** Records the end of the encoding of imported videos. */
export async function settleEncodings(db: Db<Tables>): Promise<void> {
  await sql`
    with encoding as (
      select id as "itemId", object_id from import_items where state = 'encoding' order by id limit 2000
    ), ended as (
      select id as "videoId", ${sql.raw(stateColumn)},
        coalesce((select failure from encodings where video_id = id), (select failure from sources where video_id = id)) as failure
      from videos where id = any(array(select object_id from encoding))
    )
    update import_items i
    set state = case when e."videoState" = 'ready' then 'done' else 'failed' end,
      reason = case when e."videoId" is null then 'The video was deleted.'
                    when e."videoState" = 'failed' then coalesce(e.failure, 'The video cannot be encoded.') end,
      updated_at = now()
    from encoding o left join ended e on e."videoId" = o.object_id
    where i.id = o."itemId" and i.state = 'encoding'
      and (e."videoId" is null or e."videoState" in ('ready', 'failed'))`.execute(db)
}
