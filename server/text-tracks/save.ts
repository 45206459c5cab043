import type { Transaction } from 'kysely'
import { invalidAttribute } from '../lib/errors.ts'
import { newId } from '../lib/ids.ts'
import type { Tables } from '../tables.ts'
import * as store from './store.ts'
import type { TrackOrigin } from './tables.ts'

/** Bounds the size of the master playlist, which lists all captions. */
const maxTracks = 200

const idPrefixes = { captions: 'caption_', chapters: 'chapter_' }

type TrackContent = Omit<store.NewTrack, 'id'>

/** Adds a track or replaces the one in the same language. Undefined when there is no such video. */
export async function saveTrack(
  trx: Transaction<Tables>,
  track: TrackContent,
): Promise<store.StoredTrack | undefined> {
  if (!(await store.lockVideo(trx, track.videoId))) return undefined
  if ((await store.countOtherTracks(trx, track)) >= maxTracks)
    throw invalidAttribute('language', `A video can have ${track.kind} in at most ${maxTracks} languages.`)
  return store.upsertTrack(trx, { ...track, id: newId(idPrefixes[track.kind]) })
}

export type NewCaption = {
  videoId: string
  /** A BCP 47 tag that `readLanguage` returned. */
  language: string
  /** WebVTT without NUL characters. */
  content: string
  origin: TrackOrigin
  isDefault?: boolean
}

/** As `saveTrack`. The result contains the id of the caption. */
export const saveCaption = (trx: Transaction<Tables>, caption: NewCaption) =>
  saveTrack(trx, { ...caption, kind: 'captions' })
