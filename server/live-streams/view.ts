import { issueToken } from '../access/private-token.ts'
import type { Context } from '../context.ts'
import { formatTime } from '../lib/time.ts'
import { defaultSize, iframeOf } from '../videos/iframe.ts'
import { livePath, privateLivePath } from './paths.ts'
import type { LiveStream } from './schemas.ts'
import type { LiveStreamDetails } from './store.ts'

/** The live stream as the API shows it. The URLs of a private one are for one viewer: each response has a new token. */
export function viewLiveStream(
  { publicUrl, secret, now }: Pick<Context, 'publicUrl' | 'secret' | 'now'>,
  row: LiveStreamDetails,
): LiveStream {
  const token = row.public ? undefined : issueToken(secret, row.id, now())
  const media = publicUrl() + (token === undefined ? livePath(row.id) : privateLivePath(row.id, token))
  const player = `${publicUrl()}${livePath(row.id)}${token === undefined ? '' : `?token=${token}`}`
  return {
    liveStreamId: row.id,
    name: row.name,
    streamKey: row.stream_key,
    public: row.public,
    record: row.record,
    broadcasting: row.broadcasting,
    playerId: row.player_id,
    restreams: row.restreams,
    metadata: row.metadata,
    showViewers: row.show_viewers,
    srtPassphrase: row.srt_passphrase,
    assets: {
      hls: `${media}.m3u8`,
      iframe: iframeOf({ src: player, title: row.name, size: defaultSize }),
      player,
      thumbnail: `${media}/thumbnail.jpg`,
    },
    lastRefusal: row.last_refusal,
    createdAt: formatTime(row.created_at),
    updatedAt: formatTime(row.updated_at),
  }
}
