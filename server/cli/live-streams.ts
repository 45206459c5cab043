import { setTimeout as delay } from 'node:timers/promises'
import { call, ResponseError, type Server, sendJson } from './client.ts'

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

/** The service closes the connection of the encoder before the broadcast has the state `ended`. */
const stateDelayMs = 250
const maxStateChecks = 12

/**
 * Whether a broadcast whose connection was lost is over, because somebody ended it or deleted the live stream. Otherwise it
 * waits for the encoder.
 */
export async function isBroadcastOver(server: Server, liveStreamId: string): Promise<boolean> {
  const path = `${pathOf(liveStreamId)}/broadcasts?pageSize=1`
  try {
    for (let check = 1; check <= maxStateChecks; check++) {
      const [latest] = (await call<{ data: { state: string }[] }>(server, 'GET', path)).data
      if (!latest || latest.state === 'ended') return latest !== undefined
      if (check < maxStateChecks) await delay(stateDelayMs)
    }
    return false
  } catch (error) {
    // A service that does not respond lost its connections.
    return error instanceof ResponseError && error.status === 404
  }
}
