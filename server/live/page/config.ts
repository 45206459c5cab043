import type { Access } from '../../access/check.ts'
import { livePath } from '../../live-streams/paths.ts'
import { configUrl, emptyConfig, type PlayerConfig, themeConfig } from '../../players/config.ts'
import { videoPath } from '../../videos/paths.ts'
import type { WatchedStream } from '../state/watched-streams.ts'
import { stateOf, versionOf } from './state.ts'

type Viewer = {
  access: Access
  /** Whether the session is open. Before, there is no URL of the media. */
  isOpen: boolean
  token: string | undefined
  viewers: number | null
}

/** The configuration of the player page of a live stream. */
export function liveConfig(stream: WatchedStream, { access, isOpen, token, viewers }: Viewer): PlayerConfig {
  const { id, latest } = stream
  const recording = latest?.recording ?? null
  return {
    ...emptyConfig({ videoId: id, type: 'live' }, 'missing'),
    state: stateOf(stream),
    title: stream.name,
    hls: isOpen ? `${access.path}.m3u8${access.query}` : '',
    self: configUrl(livePath(id), token, isOpen ? access : undefined),
    poster: stream.hasThumbnail ? `${access.path}/thumbnail.jpg${access.query}` : null,
    theme: themeConfig(stream.player),
    live: {
      version: versionOf(stream),
      broadcastId: latest?.id ?? null,
      recording: recording && videoPath(recording),
      viewers,
    },
  }
}
