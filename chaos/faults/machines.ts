import { join } from 'node:path'
import type { Fault } from './fault.ts'

/** Fills the disk to the last byte. */
const diskFull: Fault = {
  name: 'disk full',
  async begin({ installation, random }, isBusy) {
    const machine = random.pick(installation.kinora)
    if (isBusy(machine.name)) return undefined
    const file = join(machine.folder, 'fill')
    await machine.run(['sh', '-c', `cat /dev/zero > ${file} 2> /dev/null || true`])
    return {
      target: machine.name,
      isOutage: true,
      forMs: random.integer(2_000, 12_000),
      heal: async () => {
        await machine.run(['rm', '--force', file])
      },
    }
  },
}

const clockJump: Fault = {
  name: 'clock jump of up to a minute',
  async begin({ installation, random }, isBusy) {
    const machine = random.pick(installation.kinora)
    if (isBusy(machine.name)) return undefined
    await machine.setClock(random.integer(-60_000, 60_000))
    return {
      target: machine.name,
      forMs: random.integer(2_000, 20_000),
      heal: () => machine.setClock(0),
    }
  },
}

export const machineFaults: Fault[] = [diskFull, clockJump]
