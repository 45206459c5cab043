import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../contracts/context.ts'
import type { Attempt } from '../contracts/tables.ts'
import { createWakeSignal } from '../lib/wake-signal.ts'
import { answerWithinMs, attempt } from './attempt.ts'
import {
  type ClaimedDelivery,
  claimDeliveries,
  type SettledDelivery,
  settleDeliveries,
} from './delivery-store.ts'
import { settle } from './retry.ts'

/** Attempts of this process at once. A webhook that has none under way may begin one all the same. */
const mostInAll = 256
/** A receiver that does not answer has so many connections, and delays nobody but itself. */
const mostPerWebhook = 16
/** The longest attempt, and then a database that is slow to take its outcome. */
const holdMs = answerWithinMs + 10_000
/** Also without a word: notifications can be missed, and a worker that is gone tells nobody. */
const lookEveryMs = 1_000
const settleAgainMs = 500
/** Of a delivery that is sent again and again. */
const mostAttemptsKept = 20

export type Dispatcher = { wake(): void; close(): Promise<void> }

type Deps = Pick<Context, 'db' | 'fetch' | 'log' | 'now'>

/** Delivers events to webhooks as they come due. */
export function startDispatcher({ db, fetch, log, now }: Deps): Dispatcher {
  const underWay = new Map<string, number>()
  const attempts = new Set<Promise<void>>()
  const settled: { row: SettledDelivery; untilMs: number }[] = []
  let settling: Promise<void> | undefined
  let isClosing = false
  const wakeSignal = createWakeSignal()

  async function run(): Promise<void> {
    while (!isClosing) {
      const wait = wakeSignal.listen()
      const room = mostInAll - attempts.size
      const limits =
        room > 0 ? { underWay, mostPerWebhook, mostInAll: room } : { underWay, mostPerWebhook: 1, mostInAll }
      const claimed = await claimDeliveries(db, limits, randomUUID(), holdMs).catch((err) => {
        log.warn({ err }, 'no delivery could be claimed, trying again')
        return []
      })
      for (const delivery of claimed) begin(delivery)
      // Everything that is due has been taken, or else there was no room, and it is news when attempts have ended.
      await wait(lookEveryMs)
    }
  }

  function begin(delivery: ClaimedDelivery): void {
    const untilMs = performance.now() + holdMs
    underWay.set(delivery.webhookId, (underWay.get(delivery.webhookId) ?? 0) + 1)
    const done = attempt({ fetch, now }, { ...delivery, body: Buffer.from(delivery.payload) }).then(
      (made) => {
        attempts.delete(done)
        release(delivery.webhookId)
        settled.push({ row: outcome(delivery, made), untilMs })
        settling ??= settleAll()
      },
    )
    attempts.add(done)
  }

  /** All that ended while the last were written is written together. */
  async function settleAll(): Promise<void> {
    while (settled.length > 0) {
      const batch = settled.splice(0)
      try {
        await settleDeliveries(
          db,
          batch.map(({ row }) => row),
        )
      } catch (err) {
        log.warn({ err }, 'outcomes of deliveries could not be written, trying again')
        await delay(settleAgainMs)
        // When the claim is over another worker makes the attempt again, and its outcome counts.
        const still = batch.filter(({ untilMs }) => !isClosing && untilMs > performance.now())
        settled.unshift(...still)
        continue
      }
      for (const { row } of batch)
        if (row.state === 'pending') setTimeout(wakeSignal.wake, row.afterMs).unref()
      wakeSignal.wake()
    }
    settling = undefined
  }

  function release(webhookId: string): void {
    const left = (underWay.get(webhookId) ?? 1) - 1
    if (left > 0) underWay.set(webhookId, left)
    else underWay.delete(webhookId)
  }

  const running = run()
  return {
    wake: wakeSignal.wake,
    /** What is under way may end: it takes some seconds at most. */
    async close() {
      isClosing = true
      wakeSignal.wake()
      await running
      await Promise.all(attempts)
      await settling
    },
  }
}

function outcome({ id, holder, tries, attempts }: ClaimedDelivery, made: Attempt): SettledDelivery {
  return { id, holder, ...settle(tries, made), attempts: [...attempts, made].slice(-mostAttemptsKept) }
}
