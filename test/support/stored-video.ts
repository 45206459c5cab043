import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { segmentFile } from '../../server/videos/files.ts'
import { MiB, query, type Service } from './harness.ts'
import { createVideo } from './videos.ts'

export const segments = [randomBytes(3_000), randomBytes(900_000), randomBytes(1_000)]
/** Too large to be sent from memory. */
export const film = randomBytes(6 * MiB)

type Put = (key: string, content: Buffer) => Promise<unknown>

export const onDisk =
  ({ data }: Service): Put =>
  async (key, content) => {
    const path = join(data, 'files', key)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, content)
  }

/** The plan of an encoding of ten seconds in one quality. */
export const smallPlan = {
  key: 'source',
  offsetSeconds: 0,
  rate: { num: 25, den: 1 },
  frames: 250,
  rungs: [{ quality: '240p', width: 426, height: 240, maxKbps: 400 }],
  hasSound: false,
  isWatermarked: false,
}

/** Stores the rows and files of an encoded video. */
export async function makeVideo(service: Service, put: Put): Promise<string> {
  const videoId = await createVideo(service, { title: 'Film' })
  const row = `videos/${videoId}/hls/240p/0-x`
  const mp4 = `videos/${videoId}/mp4/240p-silent-x.mp4`
  for (const [sql, ...values] of [
    [
      `insert into encodings (video_id, environment, state, plan, created_at, finished_at)
       values ($1, 'production', 'encoded', $2, now(), now())`,
      smallPlan,
    ],
    [
      `insert into renditions (video_id, type, quality, height, state, key)
       values ($1, 'hls', '240p', 240, 'encoded', null), ($1, 'mp4', '240p', 240, 'encoded', $2)`,
      mp4,
    ],
    [
      `insert into initializations (video_id, rendition, codec, bytes) values ($1, '240p', 'avc1.640015', $2)`,
      Buffer.from('init'),
    ],
    [
      `insert into segments (video_id, rendition, first_segment, sizes, key) values ($1, '240p', 0, $2, $3)`,
      segments.map(({ length }) => length),
      row,
    ],
  ] as [string, ...unknown[]][])
    await query(service.database, sql, [videoId, ...values])
  for (const [i, segment] of segments.entries()) await put(segmentFile(row, i), segment)
  await put(mp4, film)
  return videoId
}

export const pathOf = (videoId: string, n: number) => `/vod/${videoId}/hls/240p/video-${n}.m4s`
export const mp4Of = (videoId: string) => `/vod/${videoId}/mp4/source.mp4`
