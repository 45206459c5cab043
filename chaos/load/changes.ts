import { setTimeout as delay } from 'node:timers/promises'
import { expectStatus, type LoadContext } from './load.ts'

const pauseMs = 3_000

/** Deletes some videos, restores some of them, and renames others. */
export async function changeVideos({ client, ledger, random, stopping }: LoadContext): Promise<void> {
  while (!stopping.aborted) {
    await delay(pauseMs)
    const kept = [...ledger.videos].filter(([, { state }]) => state === 'kept')
    if (kept.length < 5) continue
    const [videoId, video] = random.pick(kept)
    const action = random.pick(['rename', 'delete', 'restore'])
    if (action === 'rename') {
      const title = `renamed ${random.integer(0, 1e9)}`
      const renamed = await client.send(`/videos/${videoId}`, { method: 'PATCH', json: { title } })
      if (expectStatus(ledger, 'PATCH /videos', renamed, 200)) video.title = title
      continue
    }
    // 404: an earlier request without an answer has deleted it.
    const deleted = await client.send(`/videos/${videoId}`, { method: 'DELETE' })
    if (!expectStatus(ledger, 'DELETE /videos', deleted, 204, 404)) continue
    video.state = 'deleted'
    if (action === 'restore') {
      const json = { discarded: false }
      const restored = await client.send(`/discarded/videos/${videoId}`, { method: 'PATCH', json })
      if (expectStatus(ledger, 'PATCH /discarded/videos', restored, 200, 404)) video.state = 'kept'
    } else if (random.next() < 0.5) {
      const removed = await client.send(`/discarded/videos/${videoId}`, { method: 'DELETE' })
      expectStatus(ledger, 'DELETE /discarded/videos', removed, 204, 404)
    }
  }
}
