import type { Context } from '../../context.ts'
import { recordEvent } from '../../webhooks/events.ts'
import type { LiveBroadcast } from '../state/live-broadcast.ts'
import { sourceQuality, topQuality } from '../state/qualities.ts'
import { type Broadcast, type Claim, makeVisible } from '../state/store.ts'
import type { WriteQueue } from './write-queue.ts'

type Deps = Pick<Context, 'db' | 'now'> & {
  claim: Claim
  broadcast: Broadcast
  live: LiveBroadcast
  writes: WriteQueue
}

/** The longest segment of a source that has to be shown nevertheless. */
const maxTargetSeconds = 10

/** Decides which qualities of a broadcast viewers can watch. */
export class VisibleQualities {
  readonly #deps: Deps
  #isSourceShown = true
  /** Those that have begun. */
  readonly #encoded = new Set<string>()
  /** Viewers may be able to watch more or less than they see. */
  #isDue = true

  constructor(deps: Deps) {
    this.#deps = deps
  }

  get isSourceShown(): boolean {
    return this.#isSourceShown
  }

  /** From now on, viewers get encoded qualities only. All of them begin anew. */
  hideSource(): void {
    this.#isSourceShown = false
    this.#encoded.clear()
    this.#isDue = true
  }

  showSource(): void {
    this.#isSourceShown = true
    this.#isDue = true
  }

  add(quality: string): void {
    this.#encoded.add(quality)
    this.#isDue = true
    this.update()
  }

  remove(quality: string): void {
    this.#encoded.delete(quality)
    this.#isDue = true
  }

  /** Makes visible what there is. It may have to wait for the first segment. */
  update(): void {
    if (!this.#isDue) return
    const { live } = this.#deps
    const qualities = [
      ...(this.#isSourceShown ? [sourceQuality] : []),
      ...[...this.#encoded].sort((a, b) => heightOf(b) - heightOf(a)),
    ]
    const targetSeconds = findTarget(live, qualities)
    // Until the encoded qualities have begun, viewers keep what they have.
    if (targetSeconds === undefined || qualities.length === 0) return
    this.#isDue = false
    if (live.targetSeconds !== undefined && qualities.join() === live.qualities.join()) return
    this.#publish({ targetSeconds, qualities })
  }

  #publish(visible: { targetSeconds: number; qualities: string[] }): void {
    const { db, now, claim, broadcast, live, writes } = this.#deps
    live.apply({ kind: 'visible', ...visible })
    const { environment, live_stream_id: liveStreamId } = broadcast
    void writes.run(() =>
      db.transaction().execute(async (trx) => {
        const shown = await makeVisible(trx, claim, visible)
        if (shown?.isFirst)
          await recordEvent(trx, environment, 'live-stream.broadcast.started', { liveStreamId }, now())
        return shown !== undefined
      }),
    )
  }
}

/** The target duration is known with the first segment, and does not change afterwards. */
export function findTarget(live: LiveBroadcast, qualities: string[]): number | undefined {
  if (live.targetSeconds !== undefined) return live.targetSeconds
  const segments = qualities.map((quality) => live.rendition(quality)?.window.state.segments[0])
  const first = segments.find((segment) => segment !== undefined)
  return first && Math.min(maxTargetSeconds, Math.max(2, Math.round(first.durationMs / 1000)))
}

const heightOf = (quality: string) =>
  quality === topQuality ? Number.POSITIVE_INFINITY : Number.parseInt(quality, 10)
