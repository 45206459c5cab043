import assert from 'node:assert/strict'
import {
  type FileOptions,
  listFiles,
  MiB,
  type OpenUpload,
  openUpload,
  query,
  type Service,
  type Target,
  waitFor,
} from './harness.ts'
import { lavfi, numberedFrames, splitArgs, tone } from './media/sources.ts'
import { createVideo, encodingOf, endsOf, eventsOf, sourceUrl, videoStatus } from './videos.ts'

// Uploads that pause, so that what has arrived is encoded before the rest is sent.

/**
 * A constant bitrate, so that the beginning of a short clip has some megabytes. Every frame is referred to, so that no decoder
 * leaves out a filter.
 */
export const heavyH264 = (kbps = 2_400) =>
  splitArgs(
    `-c:v libx264 -preset ultrafast -g 50 -b:v ${kbps}k -pix_fmt yuv420p -x264-params nal-hrd=cbr:bframes=0:scenecut=0:vbv-maxrate=${kbps}:vbv-bufsize=${kbps / 2}`,
  )

export const earlyClip = (seconds: number, { size = '320x180', filter = '' } = {}) => [
  ...lavfi(numberedFrames({ size, seconds, filter })),
  ...tone(440, seconds),
]

/** A client that sends nothing for 30 seconds is too slow. */
const keepAliveMs = 5_000
const keepAliveBytes = 2_048

/** Keeps the connection of an upload until it ends. */
export function keepAlive(upload: OpenUpload): OpenUpload {
  const timer = setInterval(() => void upload.write(keepAliveBytes), keepAliveMs).unref()
  const stopped =
    <T>(work: () => T) =>
    () => {
      clearInterval(timer)
      return work()
    }
  return { write: upload.write, end: stopped(upload.end), abort: stopped(upload.abort) }
}

/** Sends the beginning of a file. The rest of the body is sent by `end`. */
export async function pauseUpload(
  target: Target,
  videoId: string,
  content: Buffer,
  { share = 0.7, ...options }: FileOptions & { share?: number } = {},
): Promise<OpenUpload> {
  const upload = openUpload(sourceUrl(target, videoId), content, options)
  // Bytes are written to the file by the megabyte.
  await upload.write(Math.ceil((share * content.length) / MiB) * MiB)
  return keepAlive(upload)
}

/** Waits until the beginning of the video is encoded as far as it has arrived. */
export async function waitForBeginning(service: Service, videoId: string): Promise<void> {
  const waiting = 'select from chunks where video_id = $1'
  let status: unknown
  await waitFor(
    async () => {
      status = await videoStatus(service, videoId)
      const [encoding] = await query(service.database, 'select plan from encodings where video_id = $1', [
        videoId,
      ])
      if (!encoding) return false
      assert.ok(encoding.plan.partial, 'the upload is complete')
      return (await query(service.database, waiting, [videoId])).length === 0
    },
    () => JSON.stringify(status),
  )
}

export const waitUntilPlayable = (target: Target, videoId: string) =>
  waitFor(async () => (await encodingOf(target, videoId)).playable)

/** A new video whose beginning is encoded. */
export async function uploadBeginning(
  service: Service & Target,
  content: Buffer,
  json: object = {},
): Promise<{ videoId: string; upload: OpenUpload }> {
  const videoId = await createVideo(service, json)
  const upload = await pauseUpload(service, videoId, content, { ...(service.key && { key: service.key }) })
  await waitForBeginning(service, videoId)
  return { videoId, upload }
}

/** The keys of the segments of a video. */
export async function segmentKeys(database: string, videoId: string): Promise<string[]> {
  const rows = await query(database, 'select key from segments where video_id = $1 order by key', [videoId])
  return rows.map(({ key }: { key: string }) => key)
}

export const rowsOf = async ({ database }: Service, table: string, videoId: string): Promise<number> =>
  (await query(database, `select from ${table} where video_id = $1`, [videoId])).length

/** Nothing is left of the encoding, and the video can be filled again. */
export async function assertNothingLeft(service: Service, videoId: string): Promise<void> {
  let files: string[] = []
  await waitFor(
    async () => {
      files = (await listFiles(service)).filter((path) => path.includes(videoId))
      return files.length === 0
    },
    () => files.join('\n'),
  )
  for (const table of ['encodings', 'renditions', 'segments', 'chunks', 'initializations', 'pictures'])
    assert.equal(await rowsOf(service, table, videoId), 0, table)
  assert.deepEqual(await eventsOf(service.database, videoId), [])
  assert.deepEqual(await endsOf(service.database, videoId), [])
}
