import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import {
  type ApiResponse,
  call,
  callUntilAvailable,
  type Kinora,
  productionKey,
  query,
  sendFile,
  type Target,
  waitFor,
} from './harness.ts'

// What most tests do with videos: create and upload them, wait until they are encoded, and load their files.

/** Creates an empty video, or one with a `source`, which the service fetches or copies. */
export async function createVideo({ url, key = productionKey }: Target, json: object = {}): Promise<string> {
  const { status, body, text } = await call(`${url}/videos`, { method: 'POST', key, json })
  assert.equal(status, 'source' in json ? 202 : 201, text)
  return body.videoId
}

/** The URL that a file is uploaded to. */
export const sourceUrl = ({ url }: Target, videoId: string) => `${url}/videos/${videoId}/source`

/** Creates a video and uploads a file, or the content of a file. */
export async function uploadVideo(target: Target, file: string | Buffer, json: object = {}): Promise<string> {
  const videoId = await createVideo(target, json)
  const content = typeof file === 'string' ? await readFile(file) : file
  const sent = await sendFile(sourceUrl(target, videoId), content, { key: target.key ?? productionKey })
  assert.equal(sent.status, 201, sent.text)
  return videoId
}

/** The status of a video. It asks again if the service is too busy to answer. */
export async function videoStatus(
  { url, key = productionKey }: Target,
  videoId: string,
): Promise<ApiResponse['body']> {
  const { status, body, text } = await callUntilAvailable(`${url}/videos/${videoId}/status`, { key })
  assert.equal(status, 200, text)
  return body
}

/**
 * Makes an uploaded file of random bytes count as encoded. A service without encoding cannot read it, so that another file
 * could replace it.
 */
export async function markEncoded(database: string, videoId: string): Promise<void> {
  const mark = `update encodings set state = 'encoded', failure = null where video_id = $1 returning video_id`
  await waitFor(async () => (await query(database, mark, [videoId])).length > 0)
}

export type Quality = { type: string; quality: string; status: string; progress: number; failure?: string }
export type Encoding = { playable: boolean; qualities: Quality[]; metadata: Record<string, unknown> }

export const encodingOf = async (target: Target, videoId: string): Promise<Encoding> =>
  (await videoStatus(target, videoId)).encoding

const isFinished = ({ status }: Quality) => status === 'encoded' || status === 'failed'

/**
 * Waits until every quality is encoded or failed. Encoders have the lowest priority and may get hardly any CPU on a
 * busy machine, so the wait fails only if neither the status changes nor an encoder uses CPU.
 */
export async function waitForEncoding(
  target: Target & Partial<Pick<Kinora, 'process'>>,
  videoId: string,
): Promise<Encoding> {
  let encoding: Encoding | undefined
  await waitFor(
    async () => {
      encoding = await encodingOf(target, videoId)
      return encoding.qualities.length > 0 && encoding.qualities.every(isFinished)
    },
    () => JSON.stringify(encoding),
    async () => JSON.stringify([encoding, await childTimes(target.process?.pid)]),
  )
  return encoding!
}

/** Lists the children of a process, each with its CPU time. */
async function childTimes(parent: number | undefined): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')))
  return stats.flatMap((stat, i) => {
    // The process name before the last parenthesis may contain any character.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return Number(fields[1]) === parent ? [`${pids[i]} ${fields[11]} ${fields[12]}`] : []
  })
}

/** Waits for the end of the encoding and checks that exactly the expected qualities were encoded. */
export async function assertEncoded(target: Target, videoId: string, expected: string[]): Promise<Encoding> {
  const encoding = await waitForEncoding(target, videoId)
  const got = encoding.qualities.map(({ type, quality, status }) => `${type} ${quality} ${status}`)
  assert.deepEqual(
    got,
    expected.map((name) => `${name} encoded`),
    JSON.stringify(encoding.qualities),
  )
  return encoding
}

/** Waits for the sprites and the thumbnail that are made when the encoding has ended. */
export async function waitForPictures(database: string, videoId: string): Promise<void> {
  const made = `select from pictures where video_id = $1 and sprites_key is not null
    and (thumbnail_source = 'uploaded' or thumbnail_key like '%-whole%')`
  await waitFor(async () => (await query(database, made, [videoId])).length > 0)
}

export const media = (url: string, videoId: string, path: string): Promise<ApiResponse> =>
  call(`${url}/vod/${videoId}/${path}`, { key: '' })

async function payloadsOf(database: string, videoId: string, type: string) {
  const rows = await query(
    database,
    `select type, payload from events where video_id = $1 and type like $2 order by position`,
    [videoId, type],
  )
  return rows.map(({ type, payload }) => {
    assert.equal(payload.type, type)
    assert.equal(payload.videoId, videoId)
    assert.match(payload.emittedAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/)
    return payload
  })
}

/** Reads the events about complete qualities of a video as `hls 240p`. */
export async function eventsOf(database: string, videoId: string): Promise<string[]> {
  const payloads = await payloadsOf(database, videoId, 'video.encoding.quality.completed')
  return payloads.map(({ encoding, quality }) => `${encoding} ${quality}`)
}

/** Reads the events about the ends of the encoding of a video as `completed` or `failed: reason`. */
export async function endsOf(database: string, videoId: string): Promise<string[]> {
  const [completed, failed] = ['video.encoding.completed', 'video.encoding.failed']
  const payloads = await payloadsOf(database, videoId, 'video.encoding.%')
  return payloads.flatMap(({ type, failure, ...rest }) => {
    if (type === completed || type === failed)
      assert.deepEqual(Object.keys(rest).sort(), ['emittedAt', 'videoId'])
    return type === completed ? ['completed'] : type === failed ? [`failed: ${failure}`] : []
  })
}

/** Waits until the encoding of a video has ended this often, and returns its ends. */
export async function waitForEnds(database: string, videoId: string, count = 1): Promise<string[]> {
  let ends: string[] = []
  await waitFor(
    async () => {
      ends = await endsOf(database, videoId)
      return ends.length >= count
    },
    () => JSON.stringify(ends),
  )
  return ends
}
