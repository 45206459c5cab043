import { stateMediator } from 'media-chrome/dist/media-store/state-mediator.js'
import { setMediator } from '../controls/timeline.ts'
import type { LiveEdge } from './live-edge.ts'

/** Gives the controls the range of a live stream that can be watched. */
export function setLiveTimeline(controller: HTMLElement, edge: LiveEdge): void {
  const { mediaSeekable, mediaCurrentTime, mediaStreamType, mediaTargetLiveWindow, mediaTimeIsLive } =
    stateMediator
  setMediator(controller, {
    ...stateMediator,
    mediaSeekable: {
      ...mediaSeekable,
      get: ({ media }) => ((media?.readyState ?? 0) > 0 ? edge.range() : undefined),
      mediaEvents: [...(mediaSeekable.mediaEvents ?? []), 'timeupdate'],
    },
    mediaCurrentTime: { ...mediaCurrentTime, set: edge.seek },
    // The element has a duration once the broadcast has ended.
    mediaStreamType: { ...mediaStreamType, get: () => 'live' },
    // Otherwise media-chrome would go to live after every pause.
    mediaTargetLiveWindow: { ...mediaTargetLiveWindow, get: () => Number.POSITIVE_INFINITY },
    mediaTimeIsLive: { ...mediaTimeIsLive, get: edge.isLive },
  })
}
