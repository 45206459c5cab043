import type { ColumnType } from 'kysely'
import type { Sprites } from '../media/sprites.ts'

/** The thumbnail and the sprites of a video. */
type PicturesRow = {
  video_id: string
  /** The source of the thumbnail: chosen by us, picked by timecode, or uploaded. */
  thumbnail_source: 'automatic' | 'picked' | 'uploaded'
  timecode: string | null
  /** Incremented by each request for another thumbnail. */
  version: number
  /** The key of the current thumbnail, which may still be the one before the last request. */
  thumbnail_key: string | null
  /** Null if an earlier version has made it, which did not store the size. The same for `sprites_bytes`. */
  thumbnail_bytes: number | null
  /** The key of an upload in progress. */
  uploading_key: string | null
  sprites: ColumnType<Sprites | null, string | null, string | null>
  /** The common prefix of the keys of the sheets. */
  sprites_key: string | null
  /** Of all sheets. */
  sprites_bytes: number | null
}

declare module '../tables.ts' {
  interface Tables {
    pictures: PicturesRow
  }
}
