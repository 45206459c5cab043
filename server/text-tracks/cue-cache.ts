import { LRUCache } from 'lru-cache'
import type { Context } from '../context.ts'
import { type Cue, parseCues } from '../media/webvtt.ts'
import { findContent } from './store.ts'

/** In bytes, roughly. A video with 2,000 cues takes half a megabyte. */
const maxSize = 64 * 1024 * 1024
const cueSize = 150

export type LoadCues = (videoId: string, language: string, version: string) => Promise<Cue[] | undefined>

/** Parsing the captions of a film takes some milliseconds, and each has many segments. */
export function cueLoader({ db }: Pick<Context, 'db'>): LoadCues {
  const cache = new LRUCache<string, Cue[], { videoId: string; language: string }>({
    maxSize,
    sizeCalculation: (cues) => cues.reduce((sum, { text }) => sum + cueSize + 2 * text.length, 1),
    async fetchMethod(_key, _stale, { context }) {
      const content = await findContent(db, { ...context, kind: 'captions' })
      return content === undefined ? undefined : parseCues(content)
    },
    // Other entries may evict an entry while it is being loaded.
    ignoreFetchAbort: true,
  })
  return (videoId, language, version) =>
    cache.fetch(`${videoId} ${language} ${version}`, { context: { videoId, language } })
}
