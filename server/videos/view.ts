import { atom } from '../lib/time.ts'
import type { Video, VideoStatus } from './schemas.ts'
import type { ReceivedSource, StoredVideo } from './store.ts'

/** The video as the API shows it. Addresses are complete from the first moment, before any file exists (brief 4.1). */
export function viewVideo(row: StoredVideo, publicUrl: string): Video {
  const media = `${publicUrl}/vod/${row.id}`
  const assets: Video['assets'] = {
    hls: `${media}/hls/manifest.m3u8`,
    iframe: `<iframe src="${media}" width="100%" height="100%" frameborder="0" scrolling="no" allowfullscreen="true"></iframe>`,
    player: media,
    thumbnail: `${media}/thumbnail.jpg`,
  }
  const createdAt = atom(row.created_at)
  if (row.mp4_support) assets.mp4 = `${media}/mp4/source.mp4`
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
    languageOrigin: row.language === null ? null : 'api',
    source: viewSource(row),
    assets,
    createdAt,
    updatedAt: atom(row.updated_at),
    // A video is published by its creation; who may watch it is another matter.
    publishedAt: createdAt,
    discarded: false,
    discardedAt: null,
    deletesAt: null,
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

export function viewStatus(row: StoredVideo, source: ReceivedSource | undefined): VideoStatus {
  return {
    ingest: viewIngest(row, source),
    encoding: {
      playable: false,
      // Nothing in the interface says that a fetch has failed; a failed quality makes clients stop waiting.
      qualities: source?.state === 'failed' ? [{ type: 'hls', quality: '240p', status: 'failed' }] : [],
      metadata: {
        width: null,
        height: null,
        bitrate: null,
        duration: null,
        framerate: null,
        samplerate: null,
        videoCodec: null,
        audioCodec: null,
        aspectRatio: null,
      },
    },
  }
}

function viewIngest(row: StoredVideo, source: ReceivedSource | undefined): VideoStatus['ingest'] {
  const isUpload = row.source_type === 'upload'
  // A container that never received anything has no ingest at all; clients compare it with null.
  if (isUpload && (!source || (source.state === 'receiving' && source.pieces.length === 0))) return null
  const isDone = isUpload ? source?.state !== 'receiving' : source?.state === 'stored'
  const pieces = source?.pieces ?? []
  const total = source?.total ?? null
  const isByBytes = source?.form === 'bytes' || source?.form === 'url'
  return {
    ...(source?.failure != null && { failure: source.failure }),
    status: isUpload ? (isDone ? 'uploaded' : 'uploading') : isDone ? 'ingested' : 'ingesting',
    filesize: source?.size ?? (isByBytes ? total : null),
    receivedBytes: isByBytes
      ? pieces.map(({ position, size }) => ({ from: position, to: position + size - 1, total }))
      : [],
    receivedParts: {
      parts: source?.form === 'parts' ? pieces.map(({ position }) => position) : [],
      total: source?.form === 'parts' ? total : null,
    },
  }
}
