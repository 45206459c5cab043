import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Lock, RequestRelease } from '@tus/server'
import type { Context } from '../contracts/context.ts'
import { ApiError, notFound } from '../lib/errors.ts'
import * as store from './store.ts'

type Deps = Pick<Context, 'db' | 'now' | 'log'>

/**
 * The lock of an upload is a claim before its first byte, of no bytes: it is in the rows, so that it holds across
 * processes, and it ends by itself when its process does.
 */
const lockPosition = -1
const leaseMs = 10_000
const renewMs = 2_000
/** Longer than a lease: after a process was killed, the first who waits gets the lock. */
const waitMs = 15_000
/** Who only wants to know the offset takes the one that is certain by then. */
const peekMs = 3_000
const pollMs = 100
/** The word to a holder in another process that somebody waits. */
const wanted = 'wanted'

export type TusLock = Lock & { readonly holder: string }

/** One request at a time changes an upload. A new one ends the one before, whose connection the client has given up. */
export function createLock(deps: Deps, videoId: string, running: Running): TusLock {
  const { db, now, log } = deps
  const holder = randomUUID()
  let timer: NodeJS.Timeout | undefined
  let own: RequestRelease | undefined

  async function renew(release: RequestRelease): Promise<void> {
    const until = new Date(now().getTime() + leaseMs)
    const isKept = await store.keepHolding(db, videoId, holder, until)
    if (!isKept || (await placeOfLock(deps, videoId)) === wanted) await release()
  }

  return {
    holder,
    async lock(_signal, release) {
      const until = now().getTime() + waitMs
      while (!(await tryToLock(deps, videoId, holder))) {
        if (now().getTime() > until)
          throw new ApiError('upload-in-progress', { headers: { 'retry-after': '5' } })
        await askForRelease(deps, videoId, running)
        await delay(pollMs)
      }
      own = release
      running.set(videoId, release)
      timer = setInterval(() => {
        renew(release).catch((err) => log.warn({ err, videoId }, 'the lock of an upload was not renewed'))
      }, renewMs)
    },
    async unlock() {
      clearInterval(timer)
      if (running.get(videoId) === own) running.delete(videoId)
      await store.releasePiece(db, videoId, holder).catch((err) => {
        log.warn({ err, videoId }, 'the lock of an upload could not be released, it ends by itself')
      })
    },
  }
}

/** The requests of this process that hold a lock, with the way to end them. */
export type Running = Map<string, RequestRelease>

/** Holds nothing, but lets a request under way come to its end, so that the offset does not change afterwards. */
export function createPeek(deps: Deps, videoId: string, running: Running): Lock {
  return {
    async lock() {
      const until = deps.now().getTime() + peekMs
      while ((await isLocked(deps, videoId)) && deps.now().getTime() < until) {
        await askForRelease(deps, videoId, running)
        await delay(pollMs)
      }
    },
    async unlock() {},
  }
}

function tryToLock({ db, now }: Deps, videoId: string, holder: string): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    if (!(await store.lockSource(trx, videoId))) throw notFound('upload')
    const time = now()
    const found = await findLock(trx, videoId)
    if (found?.held_until && found.held_until > time) return false
    if (found?.holder) await store.releasePiece(trx, videoId, found.holder)
    const lock = { video_id: videoId, position: lockPosition, size: 0 }
    await store.holdPiece(trx, lock, holder, new Date(time.getTime() + leaseMs))
    return true
  })
}

async function askForRelease({ db }: Deps, videoId: string, running: Running): Promise<void> {
  const release = running.get(videoId)
  if (release) return release()
  await db
    .updateTable('source_pieces')
    .set({ place: wanted })
    .where('video_id', '=', videoId)
    .where('position', '=', lockPosition)
    .where('place', 'is', null)
    .execute()
}

const findLock = (db: Context['db'], videoId: string) =>
  db
    .selectFrom('source_pieces')
    .select(['holder', 'held_until', 'place'])
    .where('video_id', '=', videoId)
    .where('position', '=', lockPosition)
    .executeTakeFirst()

const placeOfLock = async ({ db }: Deps, videoId: string) => (await findLock(db, videoId))?.place

async function isLocked({ db, now }: Deps, videoId: string): Promise<boolean> {
  const until = (await findLock(db, videoId))?.held_until
  return until != null && until > now()
}

export async function holdsLock(db: Context['db'], videoId: string, holder: string): Promise<boolean> {
  return (await findLock(db, videoId))?.holder === holder
}
