import type { KinoraMachine } from '../../machines/kinora.ts'
import type { Fault, FaultContext } from './fault.ts'

const roles = ['api', 'worker', 'live'] as const

/** Faults of one process. Its machine is busy until the process runs again. */
function processFault(
  name: string,
  role: (typeof roles)[number],
  begin: (machine: KinoraMachine, context: FaultContext) => Promise<{ forMs: number; heal(): Promise<void> }>,
): Fault {
  return {
    name: `${name}: ${role}`,
    async begin(context, isBusy) {
      const machine = context.random.pick(context.installation[role])
      if (isBusy(machine.name)) return undefined
      return { target: machine.name, ...(await begin(machine, context)) }
    },
  }
}

const killed = (role: (typeof roles)[number]) =>
  processFault('kill -9', role, async (machine, { random }) => {
    await machine.service().end('SIGKILL')
    return { forMs: random.integer(0, 4_000), heal: () => relaunch(machine) }
  })

/** Longer than every lease. */
const suspended = (role: (typeof roles)[number]) =>
  processFault('SIGSTOP for longer than the leases', role, async (machine, { random }) => {
    machine.service().signal('SIGSTOP')
    return {
      forMs: random.integer(8_000, 20_000),
      heal: async () => machine.service().signal('SIGCONT'),
    }
  })

const restarted = (role: (typeof roles)[number]) =>
  processFault('SIGTERM and start', role, async (machine) => {
    await machine.service().end('SIGTERM')
    return { forMs: 0, heal: () => relaunch(machine) }
  })

const ffmpegKilled: Fault = {
  name: 'kill -9: ffmpeg',
  async begin({ installation, random }, isBusy) {
    const machine = random.pick([...installation.worker, ...installation.live])
    if (isBusy(machine.name)) return undefined
    await machine.run(['sh', '-c', 'pkill -KILL ffmpeg || true'])
    return { target: machine.name, forMs: 0, heal: async () => {} }
  },
}

/** The start may fail while another fault hides the database. A supervisor tries again, and so does this. */
async function relaunch(machine: KinoraMachine): Promise<void> {
  for (;;) {
    try {
      await machine.launch()
      return
    } catch (error) {
      const isExpected = /cannot start: .*(database|store|reached|disk|space)/i.test(String(error))
      if (!isExpected) throw error
    }
  }
}

export const processFaults: Fault[] = [
  ...roles.map(killed),
  ...roles.map(suspended),
  ...roles.map(restarted),
  ffmpegKilled,
]
