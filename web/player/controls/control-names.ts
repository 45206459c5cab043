/** Control names of the published SDK. */
export const controlNames = [
  'play',
  'seekBackward',
  'seekForward',
  'playbackRate',
  'volume',
  'fullscreen',
  'subtitles',
  'chapters',
  'pictureInPicture',
  'progressBar',
  'chromecast',
  'download',
  'more',
] as const
export type ControlName = (typeof controlNames)[number]
