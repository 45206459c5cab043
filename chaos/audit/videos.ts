import { createHash } from 'node:crypto'
import type { Files } from '../../server/lib/files/files.ts'
import type { Client } from '../client.ts'
import type { AcknowledgedVideo, Ledger } from '../ledger.ts'

/** Every acknowledged byte is there, and every video is encoded and plays. What was deleted is gone. */
export async function auditVideos(client: Client, files: Files, ledger: Ledger): Promise<void> {
  for (const [videoId, video] of ledger.videos) {
    const answer = await client.send(`/videos/${videoId}`)
    if (video.state === 'deleted') {
      if (answer.status !== 404) ledger.report(`${videoId} was deleted, but has the status ${answer.status}`)
      continue
    }
    if (answer.status !== 200) {
      ledger.report(`${videoId} (${video.way}) was acknowledged, but has the status ${answer.status}`)
      continue
    }
    await auditVideo(client, files, ledger, videoId, video)
    const { title } = JSON.parse(answer.text)
    if (title !== video.title) ledger.report(`${videoId} has the title ${title} instead of ${video.title}`)
    for (const asset of ['hls', 'mp4']) {
      // A private URL can be used once.
      const { assets } = JSON.parse((await client.send(`/videos/${videoId}`)).text)
      const played = await client.send(new URL(assets[asset]).pathname, { key: '' })
      if (played.status !== 200) ledger.report(`${assets[asset]} has the status ${played.status}`)
    }
  }
}

type Quality = { type: string; quality: string; status: string }

async function auditVideo(
  client: Client,
  files: Files,
  ledger: Ledger,
  videoId: string,
  { hash, way }: AcknowledgedVideo,
): Promise<void> {
  const status = await client.send(`/videos/${videoId}/status`)
  const qualities = JSON.parse(status.text).encoding.qualities as Quality[]
  const unfinished = qualities.filter((each) => each.status !== 'encoded')
  if (qualities.length < 2 || unfinished.length > 0)
    ledger.report(`${videoId} (${way}) is not encoded: ${JSON.stringify(qualities)}`)
  const stored = createHash('sha256')
  for await (const chunk of await files.read(`videos/${videoId}/source`)) stored.update(chunk)
  if (stored.digest('hex') !== hash) ledger.report(`${videoId} (${way}) has other bytes than were uploaded`)
}
