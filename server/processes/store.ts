import { sql } from 'kysely'
import type { Db } from '../lib/db.ts'
import { readVersion } from '../lib/version.ts'
import type { Tables } from '../tables.ts'

export type Process = {
  id: string
  host: string
  pid: number
  version: string
  roles: string[]
  encodeSlots: number
  startedAt: Date
  seenAt: Date
  clockOffsetMs: number
  /** Whether it has been seen within the last three intervals. */
  isAlive: boolean
}

/** How often a process is seen. */
export const seenEverySeconds = 15
/** A process that was killed is shown for this long. */
const keptMinutes = 60

/** Records that the process is alive. */
export async function recordProcess(
  db: Db<Tables>,
  row: Pick<Process, 'id' | 'host' | 'pid' | 'version' | 'roles' | 'encodeSlots' | 'startedAt'>,
  clockOffsetMs: number,
): Promise<void> {
  const { id, host, pid, version, roles, encodeSlots, startedAt } = row
  await sql`
    insert into processes (id, host, pid, version, roles, encode_slots, started_at, seen_at, clock_offset_ms)
    values (${id}, ${host}, ${pid}, ${version}, ${roles}, ${encodeSlots}, ${startedAt}, clock_timestamp(), ${clockOffsetMs})
    on conflict (id) do update set seen_at = excluded.seen_at, clock_offset_ms = excluded.clock_offset_ms`.execute(
    db,
  )
}

export async function readClock(db: Db<Tables>): Promise<number> {
  const { rows } = await sql<{ ms: number }>`
    select extract(epoch from clock_timestamp())::float8 * 1000 as ms`.execute(db)
  return rows[0]!.ms
}

/** Whether processes of another version are running. */
export async function hasOtherVersions(db: Db<Tables>): Promise<boolean> {
  const { rows } = await sql`
    select from processes
    where version <> ${readVersion()} and seen_at > clock_timestamp() - ${3 * seenEverySeconds} * interval '1 second'
    limit 1`.execute(db)
  return rows.length > 0
}

export async function deleteProcess(db: Db<Tables>, id: string): Promise<void> {
  await db.deleteFrom('processes').where('id', '=', id).execute()
}

export async function deleteOldProcesses(db: Db<Tables>): Promise<void> {
  await sql`delete from processes where seen_at < clock_timestamp() - ${keptMinutes} * interval '1 minute'`.execute(
    db,
  )
}

/** The processes of all machines, those that were seen last first. */
export async function listProcesses(db: Db<Tables>): Promise<Process[]> {
  const { rows } = await sql<Process>`
    select id, host, pid, version, roles, encode_slots as "encodeSlots", started_at as "startedAt",
      seen_at as "seenAt", clock_offset_ms as "clockOffsetMs",
      seen_at > clock_timestamp() - ${3 * seenEverySeconds} * interval '1 second' as "isAlive"
    from processes order by "isAlive" desc, host, started_at`.execute(db)
  return rows
}
