import type MediaController from 'media-chrome/dist/media-controller.js'
import { createMediaStore } from 'media-chrome/dist/media-store/media-store.js'
import { type StateMediator, stateMediator } from 'media-chrome/dist/media-store/state-mediator.js'
import type { Media } from '../media.ts'
import type { PlayerConfig } from '../player-config.ts'

/** media-chrome cuts off fractions. A video of 29.97 s lasts 30 s for its viewers. */
export function shownDuration(seconds: number): number {
  const next = Math.ceil(seconds)
  return next - seconds < 0.1 ? next : seconds
}

type Length = Pick<PlayerConfig, 'durationSeconds' | 'isUploading'>

/** How long the entire video is. The duration of the video element says less while the video grows. */
export type Timeline = {
  /** While a file of unknown length is uploaded, what can be played of it. */
  durationSeconds(): number
  isUploading(): boolean
  update(length: Length): void
}

export function openTimeline({ video, stream }: Media, length: Length): Timeline {
  let { durationSeconds, isUploading } = length
  return {
    durationSeconds() {
      if (durationSeconds !== null && !isUploading) return durationSeconds
      // A file may be longer than it says.
      return Math.max(durationSeconds ?? 0, stream.playableSeconds() ?? 0) || video.duration
    },
    isUploading: () => isUploading,
    update(next) {
      ;({ durationSeconds, isUploading } = next)
      // The controls read the duration again.
      video.dispatchEvent(new Event('durationchange'))
    },
  }
}

/**
 * Gives the controls the duration of the entire video. That of the video element grows while the video is being encoded,
 * and changes by some milliseconds when everything is loaded.
 */
export function setTimeline(
  controller: HTMLElement,
  timeline: Timeline,
  seek: (seconds: number) => void,
): void {
  const duration = () => shownDuration(timeline.durationSeconds())
  const { mediaDuration, mediaSeekable, mediaCurrentTime, mediaStreamType } = stateMediator
  setMediator(controller, {
    ...stateMediator,
    mediaDuration: { ...mediaDuration, get: duration },
    mediaSeekable: {
      ...mediaSeekable,
      get: () => [0, duration()],
      mediaEvents: [...(mediaSeekable.mediaEvents ?? []), 'durationchange'],
    },
    mediaCurrentTime: {
      ...mediaCurrentTime,
      get: ({ media }) => (media?.ended ? duration() : (media?.currentTime ?? 0)),
      set: seek,
      mediaEvents: [...(mediaCurrentTime.mediaEvents ?? []), 'ended'],
    },
    // Safari treats a growing playlist as live, and media-chrome would start at its end.
    mediaStreamType: { ...mediaStreamType, get: () => 'on-demand' },
  })
}

/** Replaces how the controls read and change the state of the player. */
export function setMediator(controller: HTMLElement, mediator: StateMediator): void {
  const target = controller as MediaController
  const { noVolumePref, noMutedPref, noSubtitlesLangPref } = target
  target.mediaStore = createMediaStore({
    media: target.media,
    fullscreenElement: target,
    stateMediator: mediator,
    options: { noVolumePref, noMutedPref, noSubtitlesLangPref },
  })
}
