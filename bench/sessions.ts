import type { Client } from 'pg'

// Sample viewing sessions as on a busy service: some videos are watched far more than others, most viewers leave early,
// and each session has one of many users and one of a few classes as metadata.

export const videoOf = (n: number) => `vi${String(n).padStart(22, '0')}`

/** Inserts sessions that are spread over the last `days` days, each with `eventsEach` events. */
export async function fillSessions(
  client: Client,
  { sessions, days, eventsEach }: { sessions: number; days: number; eventsEach: number },
): Promise<void> {
  await client.query(
    `select make_viewing_partitions((now() at time zone 'UTC')::date - ago) from generate_series(0, $1::int) as ago`,
    [days],
  )
  await client.query(
    `insert into viewing_sessions (id, environment, media_id, media_type, loaded_at, seen_at, metadata, referrer,
       country, continent, device_type, os_name, browser_name, viewer, ready_ms, plays, first_played_at, ends,
       watch_seconds, position, awaits_play, event_at, watched, parts, recent)
     select 'ps' || n, case when n % 50 = 0 then 'sandbox' else 'production' end,
            'vi' || lpad(floor(100 * power(r, 3))::text, 22, '0'), 'video', t, t + w * interval '1 second',
            jsonb_build_object('user', 'user ' || hashint4(n) % 5000, 'class', 'class ' || n % 20),
            'https://site' || n % 40 || '.example/lessons/' || n % 200,
            (array['FR', 'DE', 'US', 'BR', 'JP', null])[1 + n % 6], (array['EU', 'EU', 'NA', 'SA', 'AS', null])[1 + n % 6],
            (array['computer', 'phone', 'tablet'])[1 + n % 3], (array['Windows', 'Android', 'iOS'])[1 + n % 3],
            (array['Chrome', 'Firefox', 'Safari', 'Microsoft Edge'])[1 + n % 4], md5((n / 3)::text), 100 + n % 900,
            least(1, n % 10), case when n % 10 > 0 then t + interval '1 second' end, case when w > 540 then 1 else 0 end,
            w, null, false, t, int4multirange(int4range(0, w)),
            case when n % 4 = 0 and w > 60 then int4multirange(int4range(0, w / 12), int4range(w / 8, w / 6))
                 else int4multirange(int4range(0, w / 6)) end, '{}'
     from generate_series(1, $1::int) as n,
          lateral (select (hashint4(n) & 2147483647) / 2147483648.0 as r, (hashint4(n + 7) & 2147483647) / 2147483648.0 as q,
                          (hashint4(n + 13) & 2147483647) / 2147483648.0 as p) as random,
          lateral (select now() - q * $2 * interval '1 day' as t,
                          case when n % 10 = 0 then 0 else floor(600 * power(p, 2))::int end as w) as s`,
    [sessions, days],
  )
  await client.query(
    `insert into viewing_events (session_id, emitted_at, type, at)
     select id, least(loaded_at + i * interval '1 second', now()), 'progress', i
     from viewing_sessions, generate_series(1, $1::int) as i`,
    [eventsEach],
  )
  await client.query('vacuum analyze viewing_sessions')
}
