import type { Fault } from './fault.ts'

const target = 'store'

const killed: Fault = {
  name: 'S3 store: kill -9 and start',
  async begin({ installation, random }, isBusy) {
    if (isBusy(target)) return undefined
    const { store } = installation
    await store.kill()
    return { target, isOutage: true, forMs: random.integer(500, 10_000), heal: () => store.launch() }
  },
}

const suspended: Fault = {
  name: 'S3 store: SIGSTOP',
  async begin({ installation, random }, isBusy) {
    if (isBusy(target)) return undefined
    const { store } = installation
    store.signal('SIGSTOP')
    return {
      target,
      isOutage: true,
      forMs: random.integer(2_000, 15_000),
      heal: async () => store.signal('SIGCONT'),
    }
  },
}

export const storeFaults: Fault[] = [killed, suspended]
