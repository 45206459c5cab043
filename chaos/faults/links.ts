import { type LinkFault, setLinkFaults, setLinkSpeed } from '../../machines/links.ts'
import type { Fault } from './fault.ts'

const minMs = 2_000
const maxMs = 15_000

/** A fault of the link between a machine that runs Kinora and one of the others, or all of them. */
function linkFault(name: string, makeFault: (peer: string | undefined) => LinkFault): Fault {
  return {
    name: `link: ${name}`,
    async begin({ installation, random }, isBusy) {
      const { kinora, postgres, store } = installation
      const machine = random.pick(kinora)
      if (isBusy(machine.name)) return undefined
      const others = kinora.filter((each) => each !== machine)
      // The database and the store are what a machine needs most.
      const peer =
        random.next() < 0.2 ? undefined : random.pick([...others, ...postgres.machines, store.machine])
      setLinkFaults(machine, [makeFault(peer?.address)])
      return {
        target: machine.name,
        isOutage: true,
        forMs: random.integer(minMs, maxMs),
        heal: async () => setLinkFaults(machine, []),
      }
    },
  }
}

const slow: Fault = {
  name: 'link: 1 Mbit/s',
  async begin({ installation, random }, isBusy) {
    const machine = random.pick(installation.kinora)
    if (isBusy(machine.name)) return undefined
    await setLinkSpeed(machine, 1)
    return {
      target: machine.name,
      isOutage: true,
      forMs: random.integer(minMs, maxMs),
      heal: () => setLinkSpeed(machine),
    }
  },
}

const at = (peer: string | undefined) => (peer === undefined ? {} : { peer })

export const linkFaults: Fault[] = [
  linkFault('cut', (peer) => ({ kind: 'cut', ...at(peer) })),
  linkFault('half-open', (peer) => ({ kind: 'half-open', ...at(peer) })),
  linkFault('5 % of packets lost', (peer) => ({ kind: 'lossy', percent: 5, ...at(peer) })),
  linkFault('30 % of packets lost', (peer) => ({ kind: 'lossy', percent: 30, ...at(peer) })),
  slow,
]
