import type { QualityList } from './qualities.ts'

export type StreamOptions = {
  url: string
  isLive: boolean
  isPanoramic: boolean
  startSeconds: number | undefined
  /** Null if it is not known yet. */
  durationSeconds: number | null
  isUploading: boolean
  /** Of each quality, while the video is being encoded. */
  encodedSeconds: Record<string, number> | null
  minQuality: number | undefined
  maxQuality: number | undefined
}

export type Encoded = Pick<StreamOptions, 'durationSeconds' | 'isUploading' | 'encodedSeconds'>

export type StreamCallbacks = {
  /** Playback stopped and does not recover by itself. The status is that of the failed response, if there was one. */
  onFailure(status: number | undefined): void
}

export type Stream = {
  /** The browser plays HLS itself, with the captions of the stream. */
  isNative: boolean
  qualities: QualityList
  setMinQuality(height: number): void
  setMaxQuality(height: number): void
  /** Continues at the current position. */
  retry(): void
  /** More of the video is encoded, or all of it (null). */
  setEncoded(next: Encoded): void
  /** While the video is still being encoded: the end of the part that can be played. */
  playableSeconds(): number | undefined
  /** Whether playback was interrupted by an error, and will continue. The element is paused meanwhile. */
  isInterrupted(): boolean
  /** How long requests have brought no data. */
  silentMs(): number
  /** Of a live stream. */
  latencySeconds(): number | undefined
  /** Of a live stream: where a viewer who watches live should be. */
  liveSeconds(): number | undefined
  destroy(): void
}
