import { fetchConfig, isPlayable } from './config.ts'
import type { Timeline } from './controls/timeline.ts'
import type { PlayerConfig } from './player-config.ts'
import type { Stream } from './stream/stream-type.ts'

const updateMs = 2000
/** Updates after the end of the encoding, at growing intervals. Thumbnails are made last. */
const maxLateUpdates = 6

type Target = {
  video: HTMLVideoElement
  stream: Stream
  timeline: Timeline
  config: PlayerConfig
  setPoster(src: string): void
  addSprites(src: string): void
  signal: AbortSignal
}

/** While a video is uploaded or encoded, adds what it gets: more of each quality, the poster, the sprites. */
export function watchUpdates(target: Target): void {
  const { video, stream, timeline, config, setPoster, addSprites, signal } = target
  let { poster, sprites } = config
  let hasGrown = false
  let lateUpdates = 0
  let timer: ReturnType<typeof setTimeout>

  function checkGrowth(): boolean {
    const isGrowing = stream.playableSeconds() !== undefined
    hasGrown ||= isGrowing
    return isGrowing
  }

  async function update() {
    // Without metadata, it is not known yet whether the video is growing.
    if (video.readyState > 0) {
      lateUpdates = checkGrowth() ? 0 : lateUpdates + 1
      if (!hasGrown && poster !== null) return
      await load()
      if (signal.aborted || lateUpdates > maxLateUpdates) return
      if (!checkGrowth() && poster !== null && sprites !== null) return
    }
    timer = setTimeout(() => void update(), updateMs * 2 ** lateUpdates)
  }

  async function load() {
    const next = await fetchConfig(new URL(config.self, location.origin)).catch(() => undefined)
    if (signal.aborted || !next || !isPlayable(next)) return
    stream.setEncoded(next)
    timeline.update(next)
    if (next.poster !== null && poster === null) setPoster(next.poster)
    if (next.sprites !== null && sprites === null) addSprites(next.sprites)
    poster ??= next.poster
    sprites ??= next.sprites
  }

  checkGrowth()
  video.addEventListener('loadedmetadata', checkGrowth, { signal })
  timer = setTimeout(() => void update(), updateMs)
  signal.addEventListener('abort', () => clearTimeout(timer))
}
