import { call, type Server, sendJson } from './client.ts'

export type LiveStream = {
  liveStreamId: string
  name: string
  streamKey: string
  broadcasting: boolean
  createdAt: string
  assets: { player: string }
}

export const pathOf = (liveStreamId: string) => `/live-streams/${encodeURIComponent(liveStreamId)}`

export const findLiveStream = (server: Server, liveStreamId: string) =>
  call<LiveStream>(server, 'GET', pathOf(liveStreamId))

export const createLiveStream = (server: Server, name: string, isPublic: boolean) =>
  sendJson<LiveStream>(server, 'POST', '/live-streams', { name, public: isPublic })
