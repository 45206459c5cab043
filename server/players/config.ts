import type { Access } from '../access/check.ts'
import { audioRendition, checkPlayable, type Playable } from '../encoding/renditions/playable.ts'
import { totalSecondsOf } from '../encoding/renditions/status.ts'
import { nativeName } from '../lib/languages.ts'
import { countSegments, secondsOf, segmentOf } from '../media/grid.ts'
import type { TrackKind } from '../text-tracks/tables.ts'
import { videoPath } from '../videos/paths.ts'
import type { PagePlayer, PageRow } from './store.ts'
import { fillStyle, logoPath, type Style } from './theme.ts'

type VideoState = 'ready' | 'processing' | 'empty' | 'failed'
type LiveState = 'waiting' | 'live' | 'away' | 'ended'

/** The page passes this to its script. Declared in web/player as well. */
export type PlayerConfig = {
  videoId: string
  type: 'vod' | 'live'
  /**
   * Videos: ready, when the master playlist is served; processing, while it is not; empty, when nothing has been uploaded;
   * failed. Live streams: waiting, before the first broadcast; live; away, while the encoder may come back; ended.
   */
  state: VideoState | LiveState | 'private' | 'missing'
  title: string
  isPanoramic: boolean
  /** URLs are paths of this origin, with token and session where needed. */
  hls: string
  /** The URL of this configuration. */
  self: string
  mp4: string | null
  poster: string | null
  sprites: string | null
  captions: { src: string; srclang: string; label: string; default: boolean }[]
  chapters: { src: string; srclang: string }[]
  /** While the file is uploaded, this is what it says about itself, or null if it does not say it. */
  durationSeconds: number | null
  /** The file is still being uploaded, and what has arrived of it is encoded. */
  isUploading: boolean
  /**
   * While the video is uploaded or encoded: the seconds of each quality and of the audio that can be played, from the start on.
   * The player asks for all qualities and decides by this which of them it can play.
   */
  encodedSeconds: Record<string, number> | null
  theme: Style & { logo: string | null; logoLink: string | null }
  collector: string
  /** Null for a video. */
  live: LiveDetails | null
}

type LiveDetails = {
  /** Changes with the state. `config.json?wait=` and the version responds when it has changed. */
  version: string
  broadcastId: string | null
  /** The player page of the recording of the last broadcast. */
  recording: string | null
  /** Null if the owner does not want to show it. */
  viewers: number | null
}

/** The player asks for all qualities while a video is being encoded. */
export const firstFile = ({ hls, encodedSeconds }: PlayerConfig) =>
  encodedSeconds ? `${hls}${hls.includes('?') ? '&' : '?'}qualities=all` : hls

type Kind = Pick<PlayerConfig, 'videoId' | 'type'>

/** Tells nothing about a video that the viewer may not see. */
export function emptyConfig({ videoId, type }: Kind, state: 'private' | 'missing'): PlayerConfig {
  return {
    videoId,
    type,
    state,
    title: '',
    isPanoramic: false,
    hls: '',
    self: '',
    mp4: null,
    poster: null,
    sprites: null,
    captions: [],
    chapters: [],
    durationSeconds: null,
    isUploading: false,
    encodedSeconds: null,
    theme: { ...fillStyle(null), logo: null, logoLink: null },
    collector: `/collector/${type}`,
    live: null,
  }
}

/** Without access there are no media URLs yet. */
export function videoConfig(
  row: PageRow,
  access: Access | undefined,
  token: string | undefined,
): PlayerConfig {
  const urlOf = (file: string) => access && `${access.path}/${file}${access.query}`
  const { player } = row
  // Nothing is said about what has arrived of it, either.
  const plan = row.isHidden ? null : row.plan
  const playable = checkPlayable(row)
  const tracks = (kind: TrackKind) =>
    row.tracks.flatMap(({ language, isDefault, ...track }) => {
      const src = track.kind === kind && urlOf(`${kind}/${language}.vtt`)
      return src ? [{ src, srclang: language, isDefault }] : []
    })
  return {
    ...emptyConfig({ videoId: row.id, type: 'vod' }, 'missing'),
    state: playable.state === 'processing' && row.isEmpty ? 'empty' : playable.state,
    title: row.title,
    isPanoramic: row.panoramic,
    hls: urlOf('hls/manifest.m3u8') ?? '',
    self: configUrl(videoPath(row.id), token, access),
    mp4: (row.hasMp4 && urlOf('mp4/source.mp4')) || null,
    poster: (row.hasThumbnail && urlOf('thumbnail.jpg')) || null,
    sprites: (row.hasSprites && urlOf('sprites.vtt')) || null,
    captions: tracks('captions').map(({ isDefault, ...track }) => ({
      ...track,
      label: nativeName(track.srclang),
      default: isDefault,
    })),
    chapters: tracks('chapters').map(({ src, srclang }) => ({ src, srclang })),
    durationSeconds: (plan && totalSecondsOf(plan)) ?? null,
    isUploading: plan?.partial !== undefined,
    encodedSeconds: playable.state === 'ready' ? encodedSeconds(playable, row.segments) : null,
    theme: themeConfig(player),
  }
}

/** Null if all qualities are complete. */
function encodedSeconds(
  { plan, hasAudio }: Playable & { state: 'ready' },
  segments: PageRow['segments'],
): PlayerConfig['encodedSeconds'] {
  if (!segments) return null
  const renditions = [...plan.rungs.map(({ quality }) => quality), ...(hasAudio ? [audioRendition] : [])]
  const isArriving = plan.partial !== undefined
  if (!isArriving && renditions.every((rendition) => (segments[rendition] ?? 0) >= countSegments(plan)))
    return null
  const endOf = (rendition: string) => secondsOf(plan, segmentOf(plan, segments[rendition] ?? 0).fromFrame)
  return Object.fromEntries(renditions.map((rendition) => [rendition, endOf(rendition)]))
}

export const themeConfig = (player: PagePlayer | null): PlayerConfig['theme'] => ({
  ...fillStyle(player?.style ?? null),
  logo: player && logoPath(player),
  logoLink: player?.logo_link ?? null,
})

/** The URL of the configuration, for a player page with this path. */
export function configUrl(path: string, token: string | undefined, access: Access | undefined): string {
  const query = new URLSearchParams(access?.query)
  if (token !== undefined) query.set('token', token)
  return `${path}/config.json${query.size > 0 ? `?${query}` : ''}`
}
