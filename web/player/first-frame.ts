/** Resolves when the first frame is shown, or after a timeout. */
export function firstFrame(video: HTMLVideoElement, maxWaitMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, maxWaitMs)
    video.requestVideoFrameCallback?.(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}
