import type { Controls } from './controls/controls.ts'
import type { Media } from './media.ts'
import type { Options } from './options.ts'
import type { PlayerConfig } from './player-config.ts'

export type Tracks = { setSubtitlesShown(isShown: boolean): void }

type Target = { config: PlayerConfig; options: Options; signal: AbortSignal; seek(seconds: number): void }

/** Adds captions and chapters. Their code is loaded only for videos that have some, and after the first frame. */
export function startTracks({ video, stream }: Media, controls: Controls, target: Target): Tracks {
  const { config, options, signal, seek } = target
  const { isNative } = stream

  async function openCaptions() {
    await firstData(video)
    const { startCaptions } = await import('./captions/captions.ts')
    signal.throwIfAborted()
    const { showSubtitles } = options
    return startCaptions({ video, controls, captions: config.captions, showSubtitles, isNative, signal })
  }

  async function openChapters() {
    await firstData(video)
    const { startChapters } = await import('./chapters/chapters.ts')
    signal.throwIfAborted()
    await startChapters({ video, controls, config, signal, seek })
  }

  const captions = config.captions.length > 0 ? openCaptions() : undefined
  // If their code cannot be loaded, the video plays without them.
  captions?.catch(() => {})
  if (config.chapters.length > 0) openChapters().catch(() => {})
  return {
    setSubtitlesShown(isShown) {
      captions?.then(({ setShown }) => setShown(isShown)).catch(() => {})
    },
  }
}

/** Resolves when there is a frame to show. Some phones load it only when the viewer starts the video. */
function firstData(video: HTMLVideoElement): Promise<void> {
  if (video.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA) return Promise.resolve()
  return new Promise((resolve) => video.addEventListener('loadeddata', () => resolve(), { once: true }))
}
