import type { Client } from 'pg'
import { fillTables } from './bulk.ts'
import type { Sizes } from './sizes.ts'

// Every video is 42 s of 720p: 4 qualities and the audio, in 11 segments, and the MP4. The newest videos are being encoded
// and have chunks that wait, one for each quality and one for the audio. One of a thousand has failed.

const rungs = [
  { quality: '240p', width: 426, height: 240, maxKbps: 400 },
  { quality: '360p', width: 640, height: 360, maxKbps: 800 },
  { quality: '480p', width: 854, height: 480, maxKbps: 1_400 },
  { quality: '720p', width: 1280, height: 720, maxKbps: 2_800 },
]

const plan = {
  key: 'source',
  offsetSeconds: 0,
  rate: { num: 25, den: 1 },
  // The first segment has 2 s, the others 4 s each.
  frames: 50 + 10 * 100,
  shortSeconds: [2],
  rungs,
  hasSound: true,
  isWatermarked: false,
}

const media = {
  container: 'mov,mp4,m4a,3gp,3g2,mj2',
  durationSeconds: 42,
  picture: { codec: 'h264', width: 1280, height: 720, rate: { num: 25, den: 1 } },
  sound: { codec: 'aac', channels: 2, sampleRate: 48_000 },
}

const chunksPerVideo = rungs.length + 1
export const segmentBytes = 200_000
export const segmentRowKey = (videoId: string, quality: string) => `videos/${videoId}/hls/${quality}/0-scale`

/** The videos with the highest numbers are being encoded. */
export const encodedVideos = ({ videos, chunks }: Sizes) =>
  videos - Math.min(videos / 2, chunks / chunksPerVideo)

export async function fillEncodings(client: Client, sizes: Sizes): Promise<void> {
  const firstWaiting = `vi${String(encodedVideos(sizes)).padStart(22, '0')}`
  await fillTables(client, ['sources', 'source_pieces'], () =>
    client.query(
      `insert into sources (video_id, form, total, size, handle, state, received_pieces, received_bytes, created_at, updated_at)
       select id, 'bytes', 30000000, 30000000, 'videos/' || id || '/source', 'stored', 1, 30000000, created_at, created_at
       from all_videos`,
    ),
  )
  const tables = ['encodings', 'renditions', 'chunks', 'segments', 'initializations']
  await fillTables(client, tables, () => insertEncodings(client, firstWaiting))
  await fillTables(client, ['pictures'], () =>
    client.query(
      `insert into pictures (video_id, thumbnail_key, thumbnail_bytes, sprites, sprites_key, sprites_bytes)
       select id, 'videos/' || id || '/pictures/automatic-1-0a51e5f1-6a08-4d3b-8ea4-a0a9e6f5b7c1.jpg', 40000,
              '{"rows": 5, "tiles": 21, "width": 160, "height": 90, "columns": 5, "seconds": 2}',
              'videos/' || id || '/pictures/sprites-0a51e5f1-6a08-4d3b-8ea4-a0a9e6f5b7c1', 60000
       from all_videos where id < $1`,
      [firstWaiting],
    ),
  )
}

async function insertEncodings(client: Client, firstWaiting: string): Promise<void> {
  await client.query(
    `insert into encodings (video_id, environment, state, failure, media, plan, created_at, finished_at, is_end_reported)
     select id, environment, case when id >= $1 then 'encoding' when is_failed then 'failed' else 'encoded' end,
            case when is_failed and id < $1 then 'The file is not a video that can be read.' end, $2, $3, created_at,
            case when id < $1 then created_at + interval '1 minute' end, id < $1
     from all_videos, lateral (select right(id, 3) = '007' as is_failed) as f`,
    [firstWaiting, media, plan],
  )
  const qualities = rungs.map(({ quality }) => quality)
  const heights = rungs.map(({ height }) => height)
  await client.query(
    `insert into renditions (video_id, type, quality, height, state)
     select id, 'hls', quality, rung.height, case when id < $1 then 'encoded' else 'waiting' end
     from all_videos, unnest($2::text[], $3::int[]) as rung (quality, height)`,
    [firstWaiting, qualities, heights],
  )
  await client.query(
    `insert into renditions (video_id, type, quality, height, state, key, bytes)
     select id, 'mp4', '720p', 720, case when id < $1 then 'encoded' else 'waiting' end,
            case when id < $1 then 'videos/' || id || '/mp4/720p-sound-0a51e5f1-6a08-4d3b-8ea4-a0a9e6f5b7c1.mp4' end, 12000000
     from all_videos`,
    [firstWaiting],
  )
  // A worker records five segments of a quality in a row, and the entire audio of a short video.
  await client.query(
    `insert into segments (video_id, rendition, first_segment, sizes, key)
     select id, rendition, first, array_fill($3::int, array[count]),
            'videos/' || id || '/hls/' || rendition || '/' || first || '-scale'
     from all_videos, (
       select quality as rendition, first, count
       from unnest($2::text[]) as quality, (values (0, 5), (5, 5), (10, 1)) as run (first, count)
       union all select 'sound', 0, 11) as run
     where id < $1`,
    [firstWaiting, qualities, segmentBytes],
  )
  await client.query(
    `insert into initializations (video_id, rendition, codec, bytes)
     select id, rendition, case rendition when 'sound' then 'mp4a.40.2' else 'avc1.64001f' end,
            decode(repeat(md5(id), 45), 'hex')
     from all_videos, unnest($2::text[] || array['sound']) as rendition where id < $1`,
    [firstWaiting, qualities],
  )
  await client.query(
    `insert into chunks (video_id, environment, track, qualities, first_segment, segments, priority, not_before)
     select id, environment, track, qualities, 0, 11, priority, created_at
     from all_videos, (
       select 'picture' as track, array[quality] as qualities, case quality when '240p' then 0 else 16 end as priority
       from unnest($2::text[]) as quality
       union all select 'sound', '{}', 0) as chunk
     where id >= $1`,
    [firstWaiting, qualities],
  )
}
