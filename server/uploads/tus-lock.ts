import { randomUUID } from 'node:crypto'
import type { Lock, RequestRelease } from '@tus/server'
import type { Context } from '../context.ts'
import { ApiError, notFound } from '../lib/errors.ts'
import { isLocked } from './begin.ts'
import type { Contention, Entry } from './contention.ts'
import { uploadsErrors } from './errors.ts'
import * as store from './store.ts'

type Deps = Pick<Context, 'db' | 'now' | 'log'> & { contention: Contention }

/** The lock of an upload is in its row, so that it holds across processes, and it ends by itself when its process does. */
const leaseMs = 10_000
const renewMs = 2_000
/** Longer than a lease: after a process was killed, the first who waits gets the lock. */
const waitMs = 15_000
/** Who only wants to know the offset takes the one that is certain by then. */
const peekMs = 3_000
/** Requests of this process wake each other; the database is asked for those of other processes. */
const pollMs = 500
/** A client has one request under way, and another one after a lost connection. */
const maxRequests = 5
/** Requests for the offset must not keep out those that write. */
const maxPeeks = 3

export type TusLock = Lock & { readonly holder: string }

const keyOf = (videoId: string) => `tus ${videoId}`

export const inProgress = () => new ApiError(uploadsErrors.inProgress, { headers: { 'retry-after': '5' } })

/** One request at a time changes an upload. A new one ends the one before, whose connection the client has given up. */
export function createLock(deps: Deps, videoId: string, running: Running): TusLock {
  const { db, now, log } = deps
  const holder = randomUUID()
  let timer: NodeJS.Timeout | undefined
  let own: RequestRelease | undefined
  let entry: Entry | undefined

  async function renew(release: RequestRelease): Promise<void> {
    const kept = await store.renewLock(db, videoId, holder, new Date(now().getTime() + leaseMs))
    if (!kept || kept.isWanted) await release()
  }

  return {
    holder,
    async lock(_signal, release) {
      entry = deps.contention.enter(keyOf(videoId), maxRequests)
      if (!entry) throw inProgress()
      try {
        await waitForLock(deps, videoId, holder, entry, running)
      } catch (error) {
        entry.leave()
        throw error
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
      await store.releaseLock(db, videoId, holder).catch((err) => {
        log.warn({ err, videoId }, 'the lock of an upload could not be released, it ends by itself')
      })
      entry?.leave()
    },
  }
}

/** The requests of this process that hold a lock, with the way to end them. */
export type Running = Map<string, RequestRelease>

async function waitForLock(deps: Deps, videoId: string, holder: string, entry: Entry, running: Running) {
  const { db, now } = deps
  const until = now().getTime() + waitMs
  for (;;) {
    const wait = entry.listen()
    const time = now()
    const lease = { now: time, until: new Date(time.getTime() + leaseMs) }
    if (await store.takeLock(db, videoId, holder, lease)) return
    if (!(await store.findSource(db, videoId))) throw notFound('upload')
    if (time.getTime() > until) throw inProgress()
    await askForRelease(deps, videoId, running)
    await wait(pollMs)
  }
}

/** Holds nothing, but lets a request under way come to its end, so that the offset does not change afterwards. */
export function createPeek(deps: Deps, videoId: string, running: Running): Lock {
  return {
    async lock() {
      const entry = deps.contention.enter(keyOf(videoId), maxPeeks)
      if (!entry) return
      const until = deps.now().getTime() + peekMs
      try {
        for (;;) {
          const wait = entry.listen()
          const source = await store.findSource(deps.db, videoId)
          if (!source || !isLocked(source, deps.now()) || deps.now().getTime() > until) return
          await askForRelease(deps, videoId, running)
          await wait(pollMs)
        }
      } finally {
        entry.leave()
      }
    },
    async unlock() {},
  }
}

async function askForRelease({ db }: Deps, videoId: string, running: Running): Promise<void> {
  const release = running.get(videoId)
  if (release) await release()
  else await store.askForLock(db, videoId)
}
