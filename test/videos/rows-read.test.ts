import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Kysely, sql } from 'kysely'
import { openDb, openPool } from '../../server/lib/db.ts'
import type { Tables } from '../../server/tables.ts'
import { listVideos } from '../../server/videos/search-store.ts'
import { createDatabase } from '../support/harness.ts'
import { countRowsRead } from '../support/rows-read.ts'

// What the list of videos in progress reads if almost all videos are encoded. The dashboard asks for it all the time.

const videos = 5_000
const inProgress = 3
const ends: (() => unknown)[] = []
let db: Kysely<Tables>

before(async () => {
  const database = await createDatabase({ after: (end) => ends.push(end) })
  db = openDb<Tables>(openPool(database, () => {}))
  await sql`
    insert into videos (id, environment, title, description, public, panoramic, mp4_support, tags, metadata, tag_terms,
      metadata_terms, source_type, created_at, updated_at)
    select 'vi' || n, 'production', '', '', true, false, true, '{}', '[]', '{}', '{}', 'upload', now(), now()
    from generate_series(1, ${videos}::int) as n`.execute(db)
  await sql`
    insert into sources (video_id, form, handle, state, created_at, updated_at)
    select id, 'whole', '', 'stored', now(), now() from videos`.execute(db)
  await sql`
    insert into encodings (video_id, environment, state, created_at)
    select id, 'production', 'encoded', now() from videos`.execute(db)
  await sql`update encodings set state = 'encoding' where video_id = 'vi1'`.execute(db)
  await sql`delete from encodings where video_id in ('vi2', 'vi3')`.execute(db)
  for (const table of ['all_videos', 'sources', 'encodings'])
    await sql`vacuum analyze ${sql.table(table)}`.execute(db)
})
after(async () => {
  await db?.destroy()
  for (const end of ends) await end()
})

test('the list of videos in progress reads only those', async () => {
  const order = { by: 'createdAt', order: 'desc' } as const
  const page = { currentPage: 1, pageSize: 25, offset: 0 }
  const read = await countRowsRead(db, 'all_videos', async (trx) => {
    const { total } = await listVideos(trx, 'production', { status: 'processing' }, order, page)
    assert.equal(total, inProgress)
  })
  // Each is looked up several times, to find it and to select its columns.
  assert.ok(read <= 10 * inProgress, `${read} videos were read`)
})
