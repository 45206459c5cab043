import { countSheets } from '../media/sprites.ts'
import {
  findSegmentRow,
  kindOfFile,
  knownThumbnailKeyOf,
  segmentFile,
  sourceKey,
  spriteSheetFile,
  watermarkKey,
} from '../videos/files.ts'
import type { KnownFiles } from './store.ts'

/**
 * Whether the rows of a video refer to one of its files. `orphan` means that no row refers to it and none ever will, unless
 * a job stores it while it holds one of the locks in encoding/locks.ts and thumbnails/locks.ts. Files that this service
 * does not create are `foreign` and are never changed.
 */
export type FileStatus = 'known' | 'in progress' | 'orphan' | 'foreign'

export function classifyFile(videoId: string, key: string, known: KnownFiles): FileStatus {
  const orphanUnless = (isKnown: boolean): FileStatus => (isKnown ? 'known' : 'orphan')
  switch (kindOfFile(videoId, key)) {
    case 'source':
      // The file is stored before its state changes. A source that failed or was dropped is never used.
      return orphanUnless(known.sourceState !== null && !['failed', 'dropped'].includes(known.sourceState))
    case 'watermark.png':
      return orphanUnless(known.hasWatermark)
    case 'copy':
      // The copy is stored before the plan that refers to it.
      return orphanUnless(!known.hasEncoding || known.isPartial || known.planKey === key)
    case 'hls': {
      if (findSegmentRow(key, known.segments).isRecorded) return 'known'
      // Only the worker that has a lease on the chunk records its segments.
      return known.isEncoding ? 'in progress' : 'orphan'
    }
    case 'mp4':
      return orphanUnless(known.mp4Keys.includes(key))
    case 'pictures': {
      const keys = [known.thumbnailKey, known.uploadingKey, known.spritesKey]
      return orphanUnless(keys.includes(knownThumbnailKeyOf(videoId, key)))
    }
    default:
      return 'foreign'
  }
}

/** Every file that the rows refer to. */
export function* expectedFiles(videoId: string, known: KnownFiles): Generator<string> {
  if (known.sourceState === 'stored') yield sourceKey(videoId)
  if (known.hasWatermark) yield watermarkKey(videoId)
  for (const [key, count] of Object.entries(known.segments))
    for (let i = 0; i < count; i++) yield segmentFile(key, i)
  yield* known.mp4Keys
  if (known.thumbnailKey !== null) yield known.thumbnailKey
  if (known.spritesKey !== null && known.sprites !== null)
    for (let sheet = 0; sheet < countSheets(known.sprites); sheet++)
      yield spriteSheetFile(known.spritesKey, sheet)
}
