import type { Context } from '../context.ts'
import { batch } from '../lib/batch.ts'
import { Lru } from '../lib/lru.ts'
import type { Found, Make } from './serve.ts'
import { findStandings, type Standing } from './store.ts'

/** Of one statement. */
const mostLookedUp = 100

export type FindStanding = (videoId: string) => Promise<Standing | undefined>

/** Asked for every file: a video may be deleted or made private at any time. */
export const standings = ({ db }: Pick<Context, 'db'>): FindStanding =>
  batch(mostLookedUp, (ids: string[]) => findStandings(db, ids))

/**
 * Remembers what is given out of videos that are encoded: it stays the same until they are encoded anew, which ends at
 * another time.
 */
export class Finished {
  readonly #findStanding: FindStanding
  readonly #known: Lru<string, Make>

  constructor(findStanding: FindStanding, most: number) {
    this.#findStanding = findStanding
    this.#known = new Lru(most)
  }

  async find(
    videoId: string,
    name: string,
    look: () => Promise<Found | undefined>,
  ): Promise<Found | undefined> {
    const standing = await this.#findStanding(videoId)
    if (!standing) return undefined
    if (standing.finishedAt === null) return look()
    const key = `${videoId} ${standing.finishedAt} ${name}`
    const known = this.#known.get(key)
    if (known) return { public: standing.public, prepare: () => known }
    const found = await look()
    if (!found) return undefined
    const prepare = async () => {
      const make = await found.prepare()
      if (make) this.#known.set(key, make)
      return make
    }
    return { public: found.public, prepare }
  }
}
