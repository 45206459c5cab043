import type { Body } from '../lib/files/files.ts'
import type { StoredRendition } from './complete-chunk.ts'

/** One rendition of an encoded chunk. Nothing is in the file store before `storeSegments`. */
export type EncodedRendition = StoredRendition & { segments: (() => Body | Buffer)[] }
