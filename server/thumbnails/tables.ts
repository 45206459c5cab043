import type { ColumnType } from 'kysely'
import type { Sprites } from '../media/sprites.ts'

/** What is shown of a video before it plays, and while one seeks. */
export type PicturesRow = {
  video_id: string
  /** What the thumbnail is to be: a frame that was chosen here, one of a timecode, or a picture that was sent. */
  wish: 'automatic' | 'picked' | 'uploaded'
  timecode: string | null
  /** Counts wishes. */
  version: number
  /** Of the thumbnail that there is, perhaps still of a wish of before. */
  thumbnail_key: string | null
  /** Of a picture that is on its way into the store. */
  uploading_key: string | null
  sprites: ColumnType<Sprites | null, string | null, string | null>
  /** What the sheets' keys begin with. */
  sprites_key: string | null
}

export type ThumbnailsTables = {
  pictures: PicturesRow
}
