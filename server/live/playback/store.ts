import { sql } from 'kysely'
import type { Environment } from '../../environments.ts'
import type { Db } from '../../lib/db.ts'
import type { Tables } from '../../tables.ts'
import type { BroadcastRow } from '../tables.ts'

/** A live stream with the broadcast that viewers can watch: the current one, or the last one for a while. */
export type WatchedStream = {
  id: string
  environment: Environment
  public: boolean
  broadcast: { id: string; state: BroadcastRow['state'] } | null
}

export async function findStream(
  db: Db<Tables>,
  id: string,
  rewindSeconds: number,
): Promise<WatchedStream | undefined> {
  const { rows } = await sql<WatchedStream>`
    select s.id, s.environment, s.public, (
      select json_build_object('id', b.id, 'state', b.state) from broadcasts b
      where b.live_stream_id = s.id and b.visible_at is not null
        and (b.state <> 'ended' or b.ended_at > now() - ${rewindSeconds} * interval '1 second')
      order by b.started_at desc limit 1
    ) as broadcast
    from live_streams s where s.id = ${id}`.execute(db)
  return rows[0]
}
