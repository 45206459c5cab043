import type { Lock, RequestRelease } from '@tus/server'
import { ApiError, notFound } from '../../lib/errors.ts'
import { uploadsErrors } from '../errors.ts'
import { isLocked } from '../source/begin.ts'
import type { Membership, UploadContext } from '../source/coordinator.ts'
import * as store from '../source/store.ts'
import * as lockStore from './lock-store.ts'

type LockContext = Pick<UploadContext, 'db' | 'now' | 'log' | 'coordinator'>

/**
 * The lock of an upload is a lease in its row. It is valid for all processes and expires when its process ends.
 * `chunks/claim.ts` explains why uploads have this lock beside the leases of chunks.
 */
const leaseMs = 10_000
const renewMs = 2_000
/** Longer than a lease: after a process was killed, the first waiting request gets the lock. */
const waitMs = 15_000
/** A request for the offset then returns the current one. */
const readWaitMs = 3_000
/** Requests of this process wake each other. Polling is for other processes. */
const pollMs = 500
/** A client has one active request, and another one after a lost connection. */
const maxRequests = 5
/** Requests for the offset must not block those that write. */
const maxReaders = 3

const keyOf = (videoId: string) => `tus ${videoId}`

export const tusUploadInProgress = () =>
  new ApiError(uploadsErrors.inProgress, { headers: { 'retry-after': '5' } })

/**
 * One request at a time changes an upload. A new request ends the previous one, because the client has abandoned its
 * connection.
 */
export function createLock(
  context: LockContext,
  videoId: string,
  owner: string,
  activeRequests: ActiveRequests,
): Lock {
  const { db, now, log } = context
  let timer: NodeJS.Timeout | undefined
  let ownRelease: RequestRelease | undefined
  let membership: Membership | undefined

  async function renew(release: RequestRelease): Promise<void> {
    const renewed = await lockStore.renewLock(db, videoId, owner, new Date(now().getTime() + leaseMs))
    if (!renewed || renewed.isWanted) await release()
  }

  return {
    async lock(_signal, release) {
      membership = context.coordinator.join(keyOf(videoId), maxRequests)
      if (!membership) throw tusUploadInProgress()
      try {
        await waitForLock(context, videoId, owner, membership, activeRequests)
      } catch (error) {
        membership.leave()
        throw error
      }
      ownRelease = release
      activeRequests.set(videoId, release)
      timer = setInterval(() => {
        renew(release).catch((err) => log.warn({ err, videoId }, 'cannot renew the lock of an upload'))
      }, renewMs)
    },
    async unlock() {
      clearInterval(timer)
      if (activeRequests.get(videoId) === ownRelease) activeRequests.delete(videoId)
      await lockStore.releaseLock(db, videoId, owner).catch((err) => {
        log.warn({ err, videoId }, 'cannot release the lock of an upload, it expires by itself')
      })
      membership?.leave()
    },
  }
}

/** The requests of this process that hold a lock, with the functions that end them. */
export type ActiveRequests = Map<string, RequestRelease>

async function waitForLock(
  context: LockContext,
  videoId: string,
  owner: string,
  membership: Membership,
  activeRequests: ActiveRequests,
) {
  const { db, now } = context
  const until = now().getTime() + waitMs
  for (;;) {
    const wait = membership.listen()
    const time = now()
    const lease = { now: time, until: new Date(time.getTime() + leaseMs) }
    if (await lockStore.acquireLock(db, videoId, owner, lease)) return
    if (!(await store.findSource(db, videoId))) throw notFound('upload')
    if (time.getTime() > until) throw tusUploadInProgress()
    await requestRelease(context, videoId, activeRequests)
    await wait(pollMs)
  }
}

/** Locks nothing. Asks an active request to end first, so that the offset does not change afterwards. */
export function createReadLock(context: LockContext, videoId: string, activeRequests: ActiveRequests): Lock {
  return {
    async lock() {
      const membership = context.coordinator.join(keyOf(videoId), maxReaders)
      if (!membership) return
      const until = context.now().getTime() + readWaitMs
      try {
        for (let polls = 0; ; polls++) {
          const wait = membership.listen()
          const source = await store.findSource(context.db, videoId)
          if (!source || !isLocked(source, context.now())) return
          // Polls count too: if this process was suspended, the active request had no time to end.
          if (context.now().getTime() > until && polls >= readWaitMs / pollMs) return
          await requestRelease(context, videoId, activeRequests)
          await wait(pollMs)
        }
      } finally {
        membership.leave()
      }
    },
    async unlock() {},
  }
}

async function requestRelease(
  { db }: LockContext,
  videoId: string,
  activeRequests: ActiveRequests,
): Promise<void> {
  const release = activeRequests.get(videoId)
  if (release) await release()
  else await lockStore.requestLockRelease(db, videoId)
}
