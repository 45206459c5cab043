import type { Access } from '../access/check.ts'
import type { EncodingPlan } from '../encoding/tables.ts'
import { secondsOf } from '../media/grid.ts'
import type { PageRow } from './store.ts'
import { fillStyle, logoPath, type Style } from './theme.ts'

/** What the page tells its script; kept in web/player too. */
export type PlayerConfig = {
  videoId: string
  type: 'vod' | 'live'
  /** ready: there is something to play. processing: not yet. */
  state: 'ready' | 'processing' | 'failed' | 'private' | 'missing'
  title: string
  isPanoramic: boolean
  /** Addresses are paths of this origin, with token and session where needed. */
  hls: string
  /** Where to ask for all of this again. */
  self: string
  mp4: string | null
  poster: string | null
  sprites: string | null
  captions: { src: string; srclang: string; label: string; default: boolean }[]
  chapters: { src: string; srclang: string; label: string }[]
  durationSeconds: number | null
  theme: Style & { logo: string | null; logoLink: string | null }
  collector: string
}

type Kind = Pick<PlayerConfig, 'videoId' | 'type'>

/** Of what the viewer may not see, or what is not there: nothing but that. */
export function emptyConfig({ videoId, type }: Kind, state: 'private' | 'missing'): PlayerConfig {
  return {
    ...{ videoId, type, state },
    title: '',
    isPanoramic: false,
    ...{ hls: '', self: '' },
    ...{ mp4: null, poster: null, sprites: null, captions: [], chapters: [], durationSeconds: null },
    theme: { ...fillStyle(null), logo: null, logoLink: null },
    collector: `/collector/${type}`,
  }
}

/** Without access there are no addresses of media yet. */
export function videoConfig(
  row: PageRow,
  access: Access | undefined,
  token: string | undefined,
): PlayerConfig {
  const address = (file: string) => access && `${access.path}/${file}${access.query}`
  const { plan, player } = row
  return {
    ...emptyConfig({ videoId: row.id, type: 'vod' }, 'missing'),
    state: stateOf(row),
    title: row.title,
    isPanoramic: row.panoramic,
    hls: address('hls/manifest.m3u8') ?? '',
    self: configAddress(row.id, token, access),
    mp4: (row.hasMp4 && address('mp4/source.mp4')) || null,
    poster: (row.hasThumbnail && address('thumbnail.jpg')) || null,
    sprites: (row.hasSprites && address('sprites.vtt')) || null,
    durationSeconds: plan && secondsOf(plan, plan.frames),
    theme: {
      ...fillStyle(player?.style ?? null),
      logo: player && logoPath(player),
      logoLink: player?.logo_link ?? null,
    },
  }
}

function configAddress(videoId: string, token: string | undefined, access: Access | undefined): string {
  const query = new URLSearchParams(access?.query)
  if (token !== undefined) query.set('token', token)
  return `/vod/${videoId}/config.json${query.size > 0 ? `?${query}` : ''}`
}

/** Ready when the master playlist is: from the first segment of the lowest quality on, with its sound. */
export function stateOf(row: PageRow): PlayerConfig['state'] {
  if (row.isSourceFailed || row.state === 'failed') return 'failed'
  if (!row.plan) return 'processing'
  const [lowest] = row.plan.rungs.filter(({ quality }) => !row.failed.includes(quality))
  if (!lowest) return 'failed'
  const needed = row.plan.hasSound && row.soundFailure === null ? [lowest.quality, 'sound'] : [lowest.quality]
  return needed.every((rendition) => row.begun.includes(rendition)) ? 'ready' : 'processing'
}

/** What most videos have, until this one's is known. */
const usualSize = { width: 1280, height: 720 }

/** Of the best quality. */
export function sizeOf(plan: EncodingPlan | null): { width: number; height: number } {
  const best = plan?.rungs.at(-1)
  return best ? { width: best.width, height: best.height } : usualSize
}
