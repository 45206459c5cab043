import { randomUUID } from 'node:crypto'
import { mkdir, rm, statfs } from 'node:fs/promises'
import type { Context } from '../context.ts'
import { RunError } from '../lib/run.ts'
import { createWakeSignal } from '../lib/wake-signal.ts'
import { newWorkFolder } from '../lib/work.ts'
import { explain, failureOf, isFinal } from '../media/failure.ts'
import type { Tools } from '../media/ffmpeg.ts'
import { Unreadable } from '../media/probe.ts'
import { encodeChunk } from './encode-chunk.ts'
import { isPassing } from './passing.ts'
import { failChunk, finishChunk } from './settle.ts'
import * as store from './store.ts'

/** A claim is renewed while its chunk is encoded; one that was not has lost its worker. */
const holdMs = 15_000
/** Also without a word: what was given back for a while, or whose worker is gone, is nobody's news. */
const lookEveryMs = 1_000
/** A disk that is full, a store out of reach: not the chunk's fault, and not for ever. */
const pauseMs = 10_000
/** Of less room than this a failure may come. */
const leastRoomBytes = 16 * 1024 * 1024
/** A chunk that takes its worker along every time must end some day. */
const mostLosses = 20
const lostReason = 'Every worker that encoded a part of this video stopped in the middle of it.'
/** An ffmpeg that was killed is tried again after 1 s, 2 s, 4 s and so on: what took its memory may need a while. */
const maxRetryAfterMs = 300_000

type Equipped = Context & { tools: Tools }

export type Encoder = { wake(): void; close(): Promise<void> }

/** Encodes chunks, one in each slot, as long as there are any. */
export function startEncoder(context: Equipped): Encoder {
  const { config, db, log } = context
  const closing = new AbortController()
  const wakeSignal = createWakeSignal()

  async function work(): Promise<void> {
    while (!closing.signal.aborted) {
      const wait = wakeSignal.listen()
      const chunk = await claim().catch((err) => {
        log.warn({ err }, 'no chunk could be claimed, trying again')
        return undefined
      })
      if (chunk) await handle(context, chunk, closing.signal)
      else await wait(lookEveryMs)
    }
  }

  async function claim() {
    await store.releaseLost(db)
    return store.claimChunk(db, randomUUID(), holdMs)
  }

  const slots = Array.from({ length: config.encodeSlots }, work)
  return {
    wake: wakeSignal.wake,
    async close() {
      closing.abort()
      wakeSignal.wake()
      await Promise.all(slots)
    },
  }
}

/** Never throws: whatever happens, the chunk is done, given back or somebody else's. */
async function handle(context: Equipped, chunk: store.ClaimedChunk, closing: AbortSignal): Promise<void> {
  const { db, files, log, config } = context
  const lost = new AbortController()
  const renew = async () => {
    const isOurs = await store.keepChunk(db, chunk, holdMs).catch(() => true)
    if (!isOurs) lost.abort()
  }
  const timer = setInterval(renew, holdMs / 5)
  const folder = newWorkFolder(config.dataDir)
  const details = { videoId: chunk.video_id, track: chunk.track, firstSegment: chunk.first_segment }
  const stored: string[] = []
  const start = Date.now()
  let isEncoded = false
  /** What was stored for nothing; all there is where the video was deleted meanwhile. */
  const forget = async (keys: string[]) => {
    if (keys.length === 0) return
    const isThere = await store.findVideo(db, chunk.video_id).catch(() => true)
    for (const key of isThere ? keys : [`videos/${chunk.video_id}`]) await files.remove(key).catch(() => {})
  }
  try {
    if (chunk.losses >= mostLosses) throw new Unreadable(lostReason)
    await store.startRenditions(db, chunk)
    const encoding = await store.findEncoding(db, chunk.video_id)
    if (!encoding?.plan || !encoding.media) return
    await mkdir(folder, { recursive: true })
    const { plan, media } = encoding
    const signal = AbortSignal.any([lost.signal, closing])
    const encoded = await encodeChunk(context, chunk, { plan, media }, folder, signal, stored)
    isEncoded = true
    // Deleted with its video, done by another, or of a quality that failed elsewhere.
    await forget(await finishChunk(context, chunk, encoded))
    log.debug({ ...details, qualities: chunk.qualities, ms: Date.now() - start }, 'chunk encoded')
  } catch (err) {
    // A commit whose answer was lost may have counted: then what is stored must stay.
    if (!isEncoded) await forget(stored)
    try {
      if (!(await store.keepChunk(db, chunk, holdMs))) return
      if (closing.aborted) await store.returnChunk(db, chunk, { afterMs: 0, failures: chunk.failures })
      else if (isPassing(err) || (await isFull(config.dataDir))) {
        log.warn({ err, ...details }, 'the encoding of a chunk has to wait')
        await store.returnChunk(db, chunk, { afterMs: pauseMs, failures: chunk.failures })
      } else if (isLoss(err) && !isFinal(err, chunk.losses + 1) && !isWorthSplitting(chunk)) {
        log.warn({ err, ...details }, 'ffmpeg was killed or hung, its chunk is tried again')
        const { failures, losses } = chunk
        const afterMs = Math.min(maxRetryAfterMs, 1_000 * 2 ** losses)
        await store.returnChunk(db, chunk, { afterMs, failures, losses: losses + 1 })
      } else {
        log.warn({ err, ...details }, 'a chunk could not be encoded')
        await failChunk(context, chunk, reasonOf(err), isHopeless(err, chunk))
      }
    } catch (error) {
      log.warn({ err: error, ...details }, 'a chunk could not be given back, its claim ends by itself')
    }
  } finally {
    clearInterval(timer)
    await rm(folder, { recursive: true, force: true }).catch(() => {})
  }
}

/** ffmpeg may end well though it could not write to the end. */
async function isFull(folder: string): Promise<boolean> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize < leastRoomBytes
}

/** ffmpeg is gone as if its worker were. */
const isLoss = (error: unknown): error is RunError =>
  error instanceof RunError && ['killed', 'stalled'].includes(failureOf(error))

/** A single quality takes less memory than all of them at once. */
const isWorthSplitting = ({ losses, qualities }: store.ClaimedChunk) => losses >= 2 && qualities.length > 1

/** Another try would end like this one. */
function isHopeless(error: unknown, { losses }: store.ClaimedChunk): boolean {
  if (isLoss(error)) return isFinal(error, losses + 1)
  return error instanceof Unreadable || (error instanceof RunError && failureOf(error) === 'cpu')
}

/** For the owner of the video. The log has the details. */
function reasonOf(error: unknown): string {
  if (error instanceof Unreadable) return error.message
  return error instanceof RunError ? explain(error) : 'A part of the video could not be encoded.'
}
