import { type RawBuilder, sql } from 'kysely'
import type { Environment } from '../../environments.ts'
import type { Db } from '../../lib/db.ts'
import { type PagePlayer, playerColumn } from '../../players/store.ts'
import type { Tables } from '../../tables.ts'
import type { BroadcastRow } from '../tables.ts'

type BroadcastState = { id: string; state: BroadcastRow['state'] }

/** A live stream as its viewers see it. */
export type WatchedStream = {
  id: string
  environment: Environment
  public: boolean
  name: string
  showsViewers: boolean
  hasThumbnail: boolean
  player: PagePlayer | null
  /** The broadcast that can be watched: the current one, or the last one for a while. */
  broadcast: BroadcastState | null
  /** The current or last broadcast, and the id of the video that was recorded from it. */
  latest: (BroadcastState & { recording: string | null }) | null
}

/** The first public video that was recorded from the broadcast `b`. */
const recording: RawBuilder<string | null> = sql`(
  select v.id from recordings r join videos v on v.id = r.video_id
  where r.broadcast_id = b.id and v.public
  order by r.part limit 1)`

type Row = Omit<WatchedStream, 'broadcast'> & { isWatchable: boolean | null }

/**
 * Finds live streams with their latest visible broadcast. The encoder of an owner that was killed is disconnected, although
 * nobody has noted it.
 */
export async function findStreams(
  db: Db<Tables>,
  ids: string[],
  rewindSeconds: number,
): Promise<WatchedStream[]> {
  const { rows } = await sql<Row>`
    select s.id, s.environment, s.public, s.name, s.show_viewers as "showsViewers",
      exists (select from live_thumbnails where live_stream_id = s.id) as "hasThumbnail", ${sql.raw(playerColumn)}, b.latest, b."isWatchable"
    from live_streams s
    left join players p on p.id = s.player_id
    left join lateral (
      select json_build_object(
          'id', b.id, 'state', case when b.state = 'live' and b.lease_until < now() then 'away' else b.state end,
          'recording', case when b.state = 'ended' then ${recording} end) as latest,
        b.state <> 'ended' or b.ended_at > now() - ${rewindSeconds} * interval '1 second' as "isWatchable"
      from broadcasts b
      where b.live_stream_id = s.id and b.visible_at is not null
      order by b.started_at desc limit 1
    ) b on true
    where s.id = any(${ids})`.execute(db)
  return rows.map(({ isWatchable, ...stream }) => ({
    ...stream,
    broadcast: isWatchable && stream.latest ? { id: stream.latest.id, state: stream.latest.state } : null,
  }))
}
