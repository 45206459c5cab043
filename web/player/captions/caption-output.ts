import type { Caption } from '../player-config.ts'

export type CaptionOutput = {
  /** Shows these captions instead of others, or none. */
  show(caption: Caption | undefined): void
}
