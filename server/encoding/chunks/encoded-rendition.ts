import type { Body } from '../../lib/files/files.ts'
import type { StoredRendition } from './complete-chunk.ts'

/** Passes the content of a segment on, and keeps it until the promise is fulfilled. */
export type PassSegment = (store: (content: Body | Buffer | Buffer[]) => Promise<unknown>) => Promise<unknown>

/** One rendition of an encoded chunk. Nothing is in the file store before `storeSegments`. */
export type EncodedRendition = StoredRendition & { segments: PassSegment[] }
