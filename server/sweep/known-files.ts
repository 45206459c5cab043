import { countSheets } from '../media/sprites.ts'
import { knownKeyOf, segmentFile } from '../renditions/files.ts'
import type { KnownFiles } from './store.ts'

/**
 * Whether the rows of a video account for one of its files. `orphan` means that no row refers to it and none ever will,
 * except to what jobs store while they hold the locks in renditions/locks.ts and thumbnails/locks.ts. Files that this service does not make are
 * `foreign` and never touched.
 */
export type Verdict = 'known' | 'in progress' | 'orphan' | 'foreign'

export function judge(videoId: string, key: string, known: KnownFiles): Verdict {
  const [kind, ...rest] = key.slice(`videos/${videoId}/`.length).split('/')
  const orphanUnless = (isKnown: boolean): Verdict => (isKnown ? 'known' : 'orphan')
  switch (kind) {
    case 'source':
      // A source that is copied or put together is stored first. A source that failed is never used.
      return orphanUnless(known.sourceState !== null && known.sourceState !== 'failed')
    case 'copy':
      // Stored before the plan that refers to it.
      return orphanUnless(!known.hasEncoding || known.planKey === key)
    case 'hls': {
      if (knownKeyOf(key) in known.segments) return 'known'
      // Segments are recorded only by the worker that holds their chunk.
      return known.isEncoding ? 'in progress' : 'orphan'
    }
    case 'mp4':
      return orphanUnless(known.mp4Keys.includes(key))
    case 'pictures': {
      // A thumbnail, or the folder of a sprite's sheets.
      const picture = `videos/${videoId}/pictures/${rest[0]}`
      return orphanUnless([known.thumbnailKey, known.uploadingKey, known.spritesKey].includes(picture))
    }
    default:
      return 'foreign'
  }
}

/** Every file that the rows refer to. */
export function* expectedFiles(videoId: string, known: KnownFiles): Generator<string> {
  if (known.sourceState === 'stored') yield `videos/${videoId}/source`
  for (const [key, count] of Object.entries(known.segments))
    for (let i = 0; i < count; i++) yield segmentFile(key, i)
  yield* known.mp4Keys
  if (known.thumbnailKey !== null) yield known.thumbnailKey
  if (known.spritesKey !== null && known.sprites !== null)
    for (let sheet = 0; sheet < countSheets(known.sprites); sheet++) yield `${known.spritesKey}/${sheet}.jpg`
}
