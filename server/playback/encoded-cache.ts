import { LRUCache } from 'lru-cache'
import type { Context } from '../context.ts'
import { batch } from '../lib/batch.ts'
import { maxEntries } from '../lib/lru.ts'
import { findMasterStates, findVideoStates, type MasterState, type VideoState } from './store.ts'

/** Videos in one statement. */
const maxBatch = 100

export type FindVideoState = (videoId: string) => Promise<VideoState | undefined>

/** Read for every file, since a video may be deleted or made private at any time. */
export const videoStateFinder = ({ db }: Pick<Context, 'db'>): FindVideoState =>
  batch(maxBatch, (ids: string[]) => findVideoStates(db, ids))

/** For the master playlist, which changes with the captions. */
export const masterStateFinder = ({ db }: Pick<Context, 'db'>) =>
  batch(maxBatch, (ids: string[]): Promise<(MasterState | undefined)[]> => findMasterStates(db, ids))

/** Caches what was loaded of encoded videos. It stays valid until a retry, which ends at another time. */
export class EncodedCache<Loaded extends object> {
  readonly #entries: LRUCache<string, Loaded>

  constructor(max: number) {
    this.#entries = new LRUCache(maxEntries(max))
  }

  async load(
    { id, finishedAt }: VideoState,
    name: string,
    load: () => Promise<Loaded | undefined>,
  ): Promise<Loaded | undefined> {
    if (finishedAt === null) return load()
    const key = `${id} ${finishedAt} ${name}`
    const cached = this.#entries.get(key)
    if (cached) return cached
    const loaded = await load()
    if (loaded) this.#entries.set(key, loaded)
    return loaded
  }
}
