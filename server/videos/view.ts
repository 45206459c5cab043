import { issueToken } from '../access/private-token.ts'
import type { Context } from '../context.ts'
import { formatTime } from '../lib/time.ts'
import { type Grid, secondsOf } from '../media/grid.ts'
import { countSheets, type Sprites } from '../media/sprites.ts'
import type { DiscardedVideo } from './discarded-store.ts'
import { iframeOf, playerSize } from './iframe.ts'
import type { VideoOverview } from './parts.ts'
import { videoPath } from './paths.ts'
import type { Video, VideoPreview } from './schemas.ts'
import type { StoredVideo } from './store.ts'

/**
 * The video as the API shows it. All asset URLs are present from the start, before any file exists. The URLs of a private
 * video are for one viewer: each response has a new token. Without `mayWatch`, as for an uploader, they have no token.
 */
export function viewVideo(
  { publicUrl, secret, now }: Pick<Context, 'publicUrl' | 'secret' | 'now'>,
  row: StoredVideo,
  { mayWatch = true, preview }: { mayWatch?: boolean; preview?: VideoOverview | undefined } = {},
): Video {
  const plain = `${publicUrl()}${videoPath(row.id)}`
  const token = row.public || !mayWatch ? undefined : issueToken(secret, row.id, now())
  const media = token === undefined ? plain : `${plain}/token/${token}`
  const player = token === undefined ? plain : `${plain}?token=${token}`
  const assets: NonNullable<Video['assets']> = {
    hls: `${media}/hls/manifest.m3u8`,
    iframe: iframeOf({ src: player, title: row.title, size: playerSize(row) }),
    player,
    thumbnail: `${media}/thumbnail.jpg`,
  }
  if (row.mp4_support) assets.mp4 = `${media}/mp4/source.mp4`
  if (preview?.sprites && preview.grid) assets.preview = viewPreview(media, preview.sprites, preview.grid)
  return { ...viewFields(row), assets, discarded: false, discardedAt: null, deletesAt: null }
}

/** The sprites of the seek bar are a preview of the entire video. */
function viewPreview(media: string, sprites: Sprites, grid: Grid): VideoPreview {
  const { tiles, columns, rows, width, height } = sprites
  const interval = Math.round((1_000 * secondsOf(grid, grid.frames)) / tiles) / 1_000
  const sheets = Array.from({ length: countSheets(sprites) }, (_, n) => `${media}/sprites/${n}.jpg`)
  return { vtt: `${media}/sprites.vtt`, sheets, tiles, columns, rows, width, height, interval }
}

export const viewDiscarded = (row: DiscardedVideo): Video => ({
  ...viewFields(row),
  assets: null,
  discarded: true,
  discardedAt: formatTime(row.discarded_at),
  deletesAt: formatTime(row.deletes_at),
})

function viewFields(row: StoredVideo) {
  const createdAt = formatTime(row.created_at)
  return {
    id: row.id,
    videoId: row.id,
    title: row.title,
    description: row.description,
    public: row.public,
    panoramic: row.panoramic,
    mp4Support: row.mp4_support,
    playableDuringUpload: row.playable_during_upload,
    playerId: row.player_id,
    tags: row.tags,
    metadata: row.metadata,
    language: row.language,
    languageOrigin: row.language === null ? null : row.is_language_detected ? 'auto' : 'api',
    source: viewSource(row),
    createdAt,
    updatedAt: formatTime(row.updated_at),
    // A video is published when it is created; `public` decides who may watch it.
    publishedAt: createdAt,
  }
}

function viewSource({ id, source_type: type, source_reference: reference }: StoredVideo): Video['source'] {
  if (type === 'url' && reference !== null) return { type, uri: reference }
  if (type === 'clone') return { type, uri: `/videos/${reference}/source` }
  if (type === 'liveStream' && reference !== null) {
    const links = [{ rel: 'self', uri: `/live-streams/${reference}` }]
    return { type, uri: `/videos/${id}/source`, liveStream: { liveStreamId: reference, links } }
  }
  return { type, uri: `/videos/${id}/source` }
}
