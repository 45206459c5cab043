import Hls, { Events, type HlsConfig, type Level } from 'hls.js'
import type { Growth } from './growth.ts'

/** The master playlist with all qualities, also those that have no segment yet. */
export const withAllQualities = (url: string) => `${url}${url.includes('?') ? '&' : '?'}qualities=all`

/** The folder of its playlist. */
export const nameOf = ({ uri }: Level) => uri.split('?')[0]?.split('/').at(-2) ?? ''

/**
 * hls.js assumes that all qualities are equally long. It passes each of its choices through `nextLoadLevel`: the first
 * one, those by bandwidth, those after an error, and that of the viewer.
 */
export class GrowingHls extends Hls {
  readonly #growth: Growth

  constructor(config: Partial<HlsConfig>, growth: Growth, durationSeconds: number) {
    super(config)
    this.#growth = growth
    // Otherwise the duration is that of the playlist: a seek into another quality would end there, and a viewer who waits
    // there for more would have reached the end. The last segment corrects a duration that is too long.
    this.on(Events.MEDIA_ATTACHED, (_, { mediaSource }) => {
      if (mediaSource && growth.isGrowing) mediaSource.duration = durationSeconds
    })
    this.on(Events.LEVEL_LOADED, (_, { details, levelInfo }) =>
      growth.note(nameOf(levelInfo), details.edge, !details.live),
    )
  }

  override get nextLoadLevel(): number {
    return this.#playable(super.nextLoadLevel)
  }

  override set nextLoadLevel(level: number) {
    super.nextLoadLevel = this.#playable(level)
  }

  /** A growing playlist is not a live stream: hls.js must not jump to its end. */
  override get liveSyncPosition(): number | null {
    return this.#growth.isGrowing ? null : super.liveSyncPosition
  }

  #playable(wanted: number): number {
    if (wanted < 0) return wanted
    const position = this.mainForwardBufferInfo?.end ?? this.media?.currentTime ?? 0
    return this.#growth.choose(this.levels.map(nameOf), { wanted, current: this.loadLevel, position })
  }
}
