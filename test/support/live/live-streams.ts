import assert from 'node:assert/strict'
import { call, productionKey, type Target } from '../harness.ts'

export type LiveStream = {
  liveStreamId: string
  streamKey: string
  assets: { hls: string; player: string; thumbnail: string }
  playerId?: string
  metadata: { key: string; value?: string }[]
  showViewers: boolean
}

export async function createLiveStream(
  { url, key = productionKey }: Target,
  json: object = {},
): Promise<LiveStream> {
  const { status, body, text } = await call(`${url}/live-streams`, {
    method: 'POST',
    key,
    json: { name: 'Show', ...json },
  })
  assert.equal(status, 200, text)
  return body
}
