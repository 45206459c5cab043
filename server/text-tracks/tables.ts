import type { Generated } from 'kysely'

export type TrackKind = 'captions' | 'chapters'

/** Where the content comes from: a file, or speech recognition. */
export type TrackOrigin = 'uploaded' | 'transcript'

/** The captions or the chapters of a video in one language. */
export type TextTrackRow = {
  video_id: string
  kind: TrackKind
  /** A BCP 47 tag, such as `en` or `pt-BR`. */
  language: string
  /** `caption_…` or `chapter_…`. Stays the same when the content is replaced. */
  id: string
  /** At most one of a video's captions is shown by default. */
  is_default: Generated<boolean>
  origin: Generated<TrackOrigin>
  /** WebVTT. */
  content: string
  /** A new one for each change of the row. */
  version: Generated<string>
  created_at: Generated<Date>
  updated_at: Generated<Date>
}

declare module '../tables.ts' {
  interface Tables {
    text_tracks: TextTrackRow
  }
}
