import { type Kysely, sql } from 'kysely'

export const locks = ['all_videos', 'encodings']

export async function up(db: Kysely<unknown>): Promise<void> {
  // Processes repeat responses for a public video until it is made private, discarded, deleted or encoded again.
  await sql`
    create function notify_visibility_change() returns trigger language plpgsql as $$
    begin
      perform pg_notify('kinora_visibility', to_jsonb(old) ->> tg_argv[0]);
      return null;
    end $$`.execute(db)
  const notify = (name: string, when: string, table: string, condition: string, column: string) =>
    sql
      .raw(
        `create trigger ${name} after ${when} on ${table} for each row when (${condition})
         execute function notify_visibility_change('${column}')`,
      )
      .execute(db)
  await notify(
    'visibility_changed',
    'update of public, discarded_at',
    'all_videos',
    'old.public and (not new.public or old.discarded_at is distinct from new.discarded_at)',
    'id',
  )
  await notify('visibility_ended', 'delete', 'all_videos', 'old.public', 'id')
  await notify(
    'encoding_replaced',
    'update of state, finished_at',
    'encodings',
    `old.state = 'encoded' and (new.state <> 'encoded' or old.finished_at is distinct from new.finished_at)`,
    'video_id',
  )
  await notify('encoding_deleted', 'delete', 'encodings', `old.state = 'encoded'`, 'video_id')
}
