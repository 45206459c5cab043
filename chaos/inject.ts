import { setTimeout as delay } from 'node:timers/promises'
import { databaseFaults } from './faults/database.ts'
import type { ActiveFault, Fault, FaultContext } from './faults/fault.ts'
import { linkFaults } from './faults/links.ts'
import { machineFaults } from './faults/machines.ts'
import { processFaults } from './faults/processes.ts'
import { storeFaults } from './faults/store.ts'

const faults = [...processFaults, ...databaseFaults, ...storeFaults, ...linkFaults, ...machineFaults]
const minPauseMs = 500
const maxPauseMs = 3_500
const maxActive = 3

export type Injected = { name: string; times: number }

type Options = { until: number; maxFaults: number; log: (text: string) => void }

/** Injects faults, each followed by the next after a moment, and heals all of them at the end. */
export async function injectFaults(
  context: FaultContext,
  { until, maxFaults, log }: Options,
): Promise<Injected[]> {
  const times = new Map(faults.map(({ name }) => [name, 0]))
  const active = new Map<string, Promise<void>>()
  let count = 0
  while (Date.now() < until && count < maxFaults) {
    await delay(context.random.integer(minPauseMs, maxPauseMs))
    if (active.size >= maxActive) {
      await Promise.race(active.values())
      continue
    }
    const fault = chooseFault(context, times)
    const from = Date.now()
    const running = await fault.begin(context, (target) => active.has(target))
    if (!running) continue
    count++
    times.set(fault.name, times.get(fault.name)! + 1)
    log(`${count} ${fault.name} (${running.target}, ${running.forMs} ms)`)
    const ended = heal(context, fault, running, from).finally(() => active.delete(running.target))
    active.set(running.target, ended)
  }
  await Promise.all(active.values())
  return [...times].map(([name, times]) => ({ name, times }))
}

/** One of the faults that were injected least, so that a run covers all of them. */
function chooseFault({ random }: FaultContext, times: Map<string, number>): Fault {
  const least = Math.min(...times.values())
  return random.pick(faults.filter(({ name }) => times.get(name)! <= least + 1))
}

async function heal(
  { ledger }: FaultContext,
  { name }: Fault,
  running: ActiveFault,
  from: number,
): Promise<void> {
  await delay(running.forMs)
  try {
    await running.heal()
  } catch (error) {
    ledger.report(`after "${name}" on ${running.target}: ${error instanceof Error ? error.stack : error}`)
  }
  if (running.isOutage) ledger.outages.push({ what: running.target, from, to: Date.now() })
}
