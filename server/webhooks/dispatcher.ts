import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../context.ts'
import { createWakeSignal } from '../lib/wake-signal.ts'
import { attemptDelivery, attemptTimeoutMs } from './attempt.ts'
import {
  type ClaimedDelivery,
  claimDeliveries,
  type DeliveryOutcome,
  saveOutcomes,
} from './delivery-store.ts'
import { attemptSeconds, deliveryDelay, deliveryResults, resultOf } from './metrics.ts'
import { nextState } from './retry.ts'
import type { Attempt } from './tables.ts'

/** Concurrent attempts of this process. A webhook without a running attempt may start one beyond this limit. */
const maxRunning = 256
/** Concurrent attempts per webhook, so that a receiver that does not respond delays only its own deliveries. */
const maxPerWebhook = 16
/** The longest attempt, plus time for a slow database to save the outcome. */
const leaseMs = attemptTimeoutMs + 10_000
/** Polls as well, because notifications can be lost and a crashed worker sends none. */
const pollMs = 1_000
const saveRetryMs = 500
/** Attempts kept in the log of one delivery. */
const maxLoggedAttempts = 20

export type Dispatcher = { wake(): void; close(): Promise<void> }

type Deps = Pick<Context, 'db' | 'fetch' | 'log' | 'metrics' | 'now'>

/** Sends deliveries to webhooks when they are due. */
export function startDispatcher({ db, fetch, log, metrics, now }: Deps): Dispatcher {
  const runningByWebhook = new Map<string, number>()
  const attempts = new Set<Promise<void>>()
  let isClosing = false
  const wakeSignal = createWakeSignal()
  const outcomes = createOutcomeWriter({ db, log }, { wake: wakeSignal.wake, isClosing: () => isClosing })

  async function run(): Promise<void> {
    while (!isClosing) {
      const wait = wakeSignal.listen()
      const free = maxRunning - attempts.size
      const limits = free > 0 ? { maxPerWebhook, maxTotal: free } : { maxPerWebhook: 1, maxTotal: maxRunning }
      const lease = { owner: randomUUID(), durationMs: leaseMs }
      const claimed = await claimDeliveries(db, { running: runningByWebhook, ...limits }, lease).catch(
        (err) => {
          log.warn({ err }, 'claiming deliveries failed, trying again')
          return []
        },
      )
      for (const delivery of claimed) start(delivery)
      // Either all due deliveries were claimed, or all slots are in use. A finished attempt wakes the loop.
      await wait(pollMs)
    }
  }

  function start(delivery: ClaimedDelivery): void {
    const { webhookId, payload } = delivery
    const leaseEndsMs = performance.now() + leaseMs
    countDelay(delivery)
    runningByWebhook.set(webhookId, (runningByWebhook.get(webhookId) ?? 0) + 1)
    const done = attemptDelivery({ fetch, now }, { ...delivery, body: Buffer.from(payload) }).then((made) => {
      attempts.delete(done)
      release(webhookId)
      const outcome = outcomeOf(delivery, made)
      metrics.observe(attemptSeconds, { result: resultOf(made) }, made.durationMs / 1_000)
      if (outcome.state !== 'pending') metrics.count(deliveryResults, { result: outcome.state })
      outcomes.save(outcome, leaseEndsMs)
    })
    attempts.add(done)
  }

  /** Of a redelivery, the event is old. */
  function countDelay({ attempts, createdAt }: ClaimedDelivery): void {
    if (attempts.length > 0) return
    metrics.observe(deliveryDelay, {}, Math.max(0, now().getTime() - createdAt.getTime()) / 1_000)
  }

  function release(webhookId: string): void {
    const left = (runningByWebhook.get(webhookId) ?? 1) - 1
    if (left > 0) runningByWebhook.set(webhookId, left)
    else runningByWebhook.delete(webhookId)
  }

  const running = run()
  return {
    wake: wakeSignal.wake,
    /** Waits for the running attempts, which takes a few seconds at most. */
    async close() {
      isClosing = true
      wakeSignal.wake()
      await running
      await Promise.all(attempts)
      await outcomes.flushed()
    },
  }
}

/** Saves outcomes in batches: those that arrive during one write are part of the next. */
function createOutcomeWriter(
  { db, log }: Pick<Context, 'db' | 'log'>,
  dispatcher: { wake(): void; isClosing(): boolean },
) {
  const queue: { outcome: DeliveryOutcome; leaseEndsMs: number }[] = []
  let writing: Promise<void> | undefined

  async function writeAll(): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.splice(0)
      const outcomes = batch.map(({ outcome }) => outcome)
      try {
        await saveOutcomes(db, outcomes)
      } catch (err) {
        log.warn({ err }, 'saving delivery outcomes failed, trying again')
        await delay(saveRetryMs)
        // After the end of the lease another worker repeats the attempt, and its outcome counts.
        const isLeased = (leaseEndsMs: number) => !dispatcher.isClosing() && leaseEndsMs > performance.now()
        queue.unshift(...batch.filter(({ leaseEndsMs }) => isLeased(leaseEndsMs)))
        continue
      }
      for (const outcome of outcomes)
        if (outcome.state === 'pending') setTimeout(dispatcher.wake, outcome.afterMs).unref()
      dispatcher.wake()
    }
    writing = undefined
  }

  return {
    save(outcome: DeliveryOutcome, leaseEndsMs: number): void {
      queue.push({ outcome, leaseEndsMs })
      writing ??= writeAll()
    },
    flushed: async () => writing,
  }
}

function outcomeOf({ id, leaseOwner, tries, attempts }: ClaimedDelivery, made: Attempt): DeliveryOutcome {
  return {
    id,
    leaseOwner,
    attempts: [...attempts, made].slice(-maxLoggedAttempts),
    ...nextState(tries, made),
  }
}
