import type { Client } from 'pg'
import { fillTables } from './bulk.ts'
import type { Sizes } from './sizes.ts'

/** Each event of this type is delivered to a few webhooks. The others subscribe to types that are not sent. */
export const deliveredType = 'video.encoding.completed'
const subscribers = 10

/** Events of the last 29 days, each with a delivery that has succeeded. Older ones expire. */
export async function fillWebhooks(client: Client, { events, videos, webhooks }: Sizes): Promise<void> {
  await fillTables(client, ['webhooks'], () =>
    client.query(
      `insert into webhooks (id, environment, url, events, secret, created_at)
       select 'webhook_' || lpad(n::text, 22, '0'), 'production', 'https://customer-' || n || '.example/hooks',
              case when n <= $2 then array[$3] else array['live-stream.broadcast.started'] end, md5(n::text), now()
       from generate_series(1, $1::int) as n`,
      [webhooks, subscribers, deliveredType],
    ),
  )
  await fillTables(client, ['events'], () =>
    client.query(
      `insert into events (id, environment, type, video_id, payload, emitted_at)
       select 'event_' || substr(md5(n::text), 1, 22), 'production', type, id,
              json_build_object('type', type, 'emittedAt', t, 'videoId', id, 'encoding', 'hls', 'quality', '720p'), t
       from generate_series(1, $1::int) as n, lateral (
         select case when n % 6 = 0 then $3 else 'video.encoding.quality.completed' end as type,
                'vi' || lpad((n::bigint * $2 / ($1 + 1))::text, 22, '0') as id,
                now() - interval '29 days' * ($1 - n) / $1 as t) as event`,
      [events, videos, deliveredType],
    ),
  )
  await fillTables(client, ['deliveries'], () =>
    client.query(
      `insert into deliveries (webhook_id, event_id, subject, state, tries, attempts, next_at, created_at)
       select 'webhook_' || lpad((1 + position % $1)::text, 22, '0'), id, video_id,
              case when position % 100 = 0 then 'failed' else 'succeeded' end, 1,
              jsonb_build_array(jsonb_build_object('at', emitted_at, 'durationMs', 80, 'status',
                case when position % 100 = 0 then 500 else 204 end, 'answer', '', 'error', null)),
              emitted_at, emitted_at
       from events order by position`,
      [webhooks],
    ),
  )
}
