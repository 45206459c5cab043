import { issueToken } from '../access/private-token.ts'
import type { Context } from '../context.ts'
import { atom } from '../lib/time.ts'
import { countSegments } from '../media/grid.ts'
import type { SourceMedia } from '../media/source-media.ts'
import { checkPlayable } from '../renditions/playable.ts'
import type { EncodingProgress } from '../renditions/playable-store.ts'
import type { DiscardedVideo } from './discarded-store.ts'
import { iframeOf, playerSize } from './iframe.ts'
import { videoPath } from './paths.ts'
import type { Video } from './schemas.ts'
import type { VideoStatus } from './status-schemas.ts'
import type { ReceivedSource, StoredVideo } from './store.ts'

/**
 * The video as the API shows it. All asset URLs are present from the start, before any file exists (brief 4.1). The URLs
 * of a private video are for one viewer: each response has a new token. Without `mayWatch`, as for an uploader, they
 * have no token.
 */
export function viewVideo(
  { publicUrl, secret, now }: Pick<Context, 'publicUrl' | 'secret' | 'now'>,
  row: StoredVideo,
  { mayWatch = true } = {},
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
  return { ...viewFields(row), assets, discarded: false, discardedAt: null, deletesAt: null }
}

export const viewDiscarded = (row: DiscardedVideo): Video => ({
  ...viewFields(row),
  assets: null,
  discarded: true,
  discardedAt: atom(row.discarded_at),
  deletesAt: atom(row.deletes_at),
})

function viewFields(row: StoredVideo) {
  const createdAt = atom(row.created_at)
  return {
    id: row.id,
    videoId: row.id,
    title: row.title,
    description: row.description,
    public: row.public,
    panoramic: row.panoramic,
    mp4Support: row.mp4_support,
    playerId: row.player_id,
    tags: row.tags,
    metadata: row.metadata,
    language: row.language,
    languageOrigin: row.language === null ? null : row.is_language_detected ? 'auto' : 'api',
    source: viewSource(row),
    createdAt,
    updatedAt: atom(row.updated_at),
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

export function viewStatus(
  row: StoredVideo,
  source: ReceivedSource | undefined,
  encoding: EncodingProgress | undefined,
): Omit<VideoStatus, 'transcript'> {
  const failure = source?.state === 'failed' ? source.failure : encoding?.failure
  return {
    ingest: viewIngest(row, source),
    encoding: {
      playable: encoding !== undefined && checkPlayable(encoding).state === 'ready',
      qualities: encoding?.renditions.length
        ? viewQualities(encoding)
        : // The API has no field for an unusable source. A failed quality makes clients stop waiting.
          failure != null
          ? [{ type: 'hls', quality: '240p', status: 'failed', failure }]
          : [],
      metadata: viewMedia(encoding?.media ?? undefined),
    },
  }
}

function viewQualities({
  plan,
  renditions,
  segmentCounts,
}: EncodingProgress): VideoStatus['encoding']['qualities'] {
  const total = plan ? countSegments(plan) : 0
  return renditions.map(({ type, quality, state, failure }) => {
    const segments = type === 'hls' ? segmentCounts[quality] : undefined
    const progress = state === 'encoded' ? 100 : segments ? Math.floor((100 * segments) / total) : 0
    return { type, quality, status: state, progress, ...(failure !== null && { failure }) }
  })
}

function viewMedia(media: SourceMedia | undefined): VideoStatus['encoding']['metadata'] {
  const { picture, sound } = media ?? {}
  const rounded = (n: number | undefined) => (n === undefined ? null : Math.round(n))
  return {
    width: rounded(picture?.width),
    height: rounded(picture?.height),
    bitrate: rounded(media?.bitrateKbps),
    duration: rounded(media?.durationSeconds),
    framerate: rounded(picture?.sourceRate),
    samplerate: rounded(sound?.sampleRate),
    videoCodec: picture?.codec ?? null,
    audioCodec: sound?.codec ?? null,
    aspectRatio: picture ? aspectRatio(picture) : null,
  }
}

const commonRatios = [
  [16, 9],
  [9, 16],
  [4, 3],
  [3, 4],
  [1, 1],
] as const

/** Rounded to common ratios: 854 x 480 is 16/9. */
function aspectRatio({ width, height }: { width: number; height: number }): string {
  const common = commonRatios.find(([x, y]) => Math.abs((width * y) / (height * x) - 1) < 0.01)
  if (common) return common.join('/')
  const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b))
  const shared = divisor(Math.round(width), Math.round(height))
  return `${Math.round(width) / shared}/${Math.round(height) / shared}`
}

function viewIngest(row: StoredVideo, source: ReceivedSource | undefined): VideoStatus['ingest'] {
  const isUpload = row.source_type === 'upload'
  // Clients compare it with null until something is received.
  if (isUpload && (!source || (source.state === 'receiving' && source.received_pieces === 0))) return null
  const isDone = isUpload ? source?.state !== 'receiving' : source?.state === 'stored'
  const total = source?.total ?? null
  const isByBytes = source?.form === 'bytes' || source?.form === 'url'
  return {
    ...(source?.failure != null && { failure: source.failure }),
    status: isUpload ? (isDone ? 'uploaded' : 'uploading') : isDone ? 'ingested' : 'ingesting',
    filesize: source?.size ?? (isByBytes ? total : null),
    receivedBytes:
      source?.ranges.map(({ position, size }) => ({ from: position, to: position + size - 1, total })) ?? [],
    receivedParts: {
      parts: source?.parts ?? [],
      total: source?.form === 'parts' ? total : null,
    },
  }
}
