import { createHash, randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '../client.ts'
import type { LoadContext } from './load.ts'
import { uploadWays } from './upload-ways.ts'

const pauseMs = 500
/** More would only wait for the encoders. */
const maxUnfinished = 8

/** Uploads videos in every way until the load stops. */
export async function uploadVideos(context: LoadContext): Promise<void> {
  const { client, ledger, random, clip, stopping } = context
  const ways = Object.entries(uploadWays)
  for (let i = 0; !stopping.aborted; i++) {
    const [way, { upload, minBytes = 100 }] = ways[i % ways.length]!
    const content = Buffer.concat([clip, box(minBytes + random.integer(0, 100_000))])
    const title = `${way} ${i}`
    const videoId = await upload(context, content, title)
    const hash = createHash('sha256').update(content).digest('hex')
    if (videoId !== undefined) ledger.videos.set(videoId, { way, hash, title, state: 'kept' })
    await delay(pauseMs)
    while (!stopping.aborted && (await countUnfinished(client)) > maxUnfinished) await delay(2_000)
  }
}

/** A box that players skip. Its content makes the file unique. */
function box(bytes: number): Buffer {
  const free = randomBytes(bytes + 8)
  free.writeUInt32BE(free.length, 0)
  free.write('free', 4)
  return free
}

async function countUnfinished(client: Client): Promise<number> {
  const answer = await client.attempt('/videos?pageSize=20&sortBy=createdAt&sortOrder=desc')
  if (answer?.status !== 200) return 0
  const videos = JSON.parse(answer.text).data as { videoId: string }[]
  const states = await Promise.all(videos.map(({ videoId }) => client.attempt(`/videos/${videoId}/status`)))
  return states.filter((state) => state?.status === 200 && isUnfinished(JSON.parse(state.text))).length
}

type Status = { ingest?: { status?: string }; encoding: { qualities: { status: string }[] } }

/** Whether there is a file whose qualities are not encoded yet. */
const isUnfinished = ({ ingest, encoding: { qualities } }: Status) =>
  ingest?.status !== undefined &&
  ingest.status !== 'missing' &&
  !(qualities.length > 0 && qualities.every(({ status }) => status === 'encoded' || status === 'failed'))
