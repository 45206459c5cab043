import { atom } from '../lib/time.ts'
import type { Video, VideoStatus } from './schemas.ts'
import type { StoredVideo } from './store.ts'

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

export function viewStatus(row: StoredVideo): VideoStatus {
  const isFetched = row.source_type !== 'upload'
  return {
    ingest: isFetched
      ? { status: 'ingesting', filesize: null, receivedBytes: [], receivedParts: { parts: [], total: null } }
      : null,
    encoding: {
      playable: false,
      qualities: [],
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
