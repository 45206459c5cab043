import type { Client } from 'pg'

// Sample viewing sessions as on a busy service: some videos are watched far more than others, most viewers leave early,
// and each session has one of many users and one of a few classes as metadata.

export const videoOf = (n: number) => `vi${String(n).padStart(22, '0')}`

const dayMs = 24 * 3_600_000

export type Sessions = {
  sessions: number
  /** How many days with sessions there are. The last one is today, until now. */
  days: number
  /** How many videos are watched. */
  videos: number
  eventsEach: number
  /** How many of the last days have events. */
  eventDays: number
}

/** Inserts sessions that are spread evenly over the last days. Each day is a new partition. */
export async function fillSessions(client: Client, options: Sessions): Promise<void> {
  const { sessions, days, eventDays } = options
  const today = Math.floor(Date.now() / dayMs)
  await client.query('truncate viewing_sessions, viewing_events')
  await client.query(`select setval('viewing_events_position', 1)`)
  for (let ago = days - 1; ago >= 0; ago--) {
    const day = today - ago
    const to = Math.min((day + 1) * dayMs, Date.now())
    const count =
      Math.floor((sessions * (days - ago)) / days) - Math.floor((sessions * (days - ago - 1)) / days)
    const name = new Date(day * dayMs).toISOString().slice(0, 10).replaceAll('-', '')
    await client.query('begin')
    await client.query(`drop table if exists viewing_sessions_${name}, viewing_events_${name}`)
    await fillDay(client, { ...options, name, day, to, count })
    if (ago < eventDays) await fillEvents(client, options, name)
    await client.query(`select make_viewing_partitions($1::date)`, [new Date(day * dayMs)])
    await client.query('commit')
  }
  await client.query('vacuum analyze viewing_sessions, viewing_events')
}

type Day = Sessions & { name: string; day: number; to: number; count: number }

/** The partition is created beside the table and gets its indexes after the rows, which is many times faster. */
async function fillDay(client: Client, { name, day, to, count, videos }: Day): Promise<void> {
  const table = `viewing_sessions_${name}`
  await client.query(
    `create table ${table} (like viewing_sessions including defaults including constraints) with (fillfactor = 70)`,
  )
  await client.query(
    `insert into ${table} (id, environment, media_id, media_type, loaded_at, seen_at, metadata, referrer,
       country, continent, device_type, os_name, browser_name, viewer, ready_ms, plays, first_played_at, ends,
       watch_seconds, position, awaits_play, event_at, watched, parts, recent)
     select $1 || substr(md5(n::text), 1, 19), case when n % 50 = 0 then 'sandbox' else 'production' end,
            'vi' || lpad(floor($5 * power(r, 3))::text, 22, '0'), 'video', t, t + w * interval '1 second',
            jsonb_build_object('user', 'user ' || hashint4(n) % 5000, 'class', 'class ' || n % 20),
            'https://site' || n % 40 || '.example/lessons/' || n % 200,
            (array['FR', 'DE', 'US', 'BR', 'JP', null])[1 + n % 6], (array['EU', 'EU', 'NA', 'SA', 'AS', null])[1 + n % 6],
            (array['computer', 'phone', 'tablet'])[1 + n % 3], (array['Windows', 'Android', 'iOS'])[1 + n % 3],
            (array['Chrome', 'Firefox', 'Safari', 'Microsoft Edge'])[1 + n % 4], left(md5((n / 3)::text), 22),
            100 + n % 900, least(1, n % 10), case when n % 10 > 0 then t + interval '1 second' end,
            case when w > 540 then 1 else 0 end, w, null, false, t, int4multirange(int4range(0, w)),
            case when n % 4 = 0 and w > 60 then int4multirange(int4range(0, w / 12), int4range(w / 8, w / 6))
                 else int4multirange(int4range(0, w / 6)) end, '{}'
     from generate_series(1, $2::int) as n,
          lateral (select (hashint4(n) & 2147483647) / 2147483648.0::float8 as r,
                          (hashint4(n + 7) & 2147483647) / 2147483648.0::float8 as q,
                          (hashint4(n + 13) & 2147483647) / 2147483648.0::float8 as p) as random,
          lateral (select $3::timestamptz + q * ($4::timestamptz - $3::timestamptz) as t,
                          case when n % 10 = 0 then 0 else floor(600 * power(p, 2))::int end as w) as s`,
    [`ps${day.toString(36).padStart(4, '0')}`, count, new Date(day * dayMs), new Date(to), videos],
  )
  await client.query(`alter table ${table} add primary key (id)`)
  await createIndexes(client, 'viewing_sessions', name)
  await attach(client, 'viewing_sessions', name)
}

async function fillEvents(client: Client, { eventsEach }: Sessions, name: string): Promise<void> {
  await client.query(
    `create table viewing_events_${name} (like viewing_events including defaults including constraints)`,
  )
  await client.query(
    `insert into viewing_events_${name} (session_id, emitted_at, type, at)
     select id, least(loaded_at + i * interval '1 second', date_trunc('day', loaded_at) + interval '23:59:59'), 'progress', i
     from viewing_sessions_${name}, generate_series(1, $1::int) as i`,
    [eventsEach],
  )
  await createIndexes(client, 'viewing_events', name)
  await attach(client, 'viewing_events', name)
}

/** The same indexes as the partitioned table has, which takes them over. */
async function createIndexes(client: Client, parent: string, name: string): Promise<void> {
  const { rows } = await client.query<{ definition: string }>(
    `select indexdef as definition from pg_indexes where tablename = $1`,
    [parent],
  )
  for (const { definition } of rows)
    await client.query(definition.replace(/INDEX \S+ ON ONLY \S+/, `INDEX ON ${parent}_${name}`))
}

async function attach(client: Client, parent: string, name: string): Promise<void> {
  const from = `${name.slice(0, 4)}-${name.slice(4, 6)}-${name.slice(6)}`
  await client.query(
    `alter table ${parent} attach partition ${parent}_${name}
     for values from ('${from} 00:00Z') to ('${new Date(Date.parse(from) + dayMs).toISOString()}')`,
  )
}
