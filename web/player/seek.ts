/** Moves within the part of the video that can be played already. */
export function seekTo(video: HTMLVideoElement, seconds: number): void {
  if (!Number.isFinite(seconds)) return
  const { seekable, duration } = video
  const end = seekable.length > 0 ? seekable.end(seekable.length - 1) : duration
  video.currentTime = Math.min(Math.max(0, seconds), Number.isFinite(end) ? end : seconds)
}
