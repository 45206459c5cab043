import type { Fault } from './fault.ts'

const target = 'postgres'

const failover: Fault = {
  name: 'Postgres: kill -9 of the primary, promotion of the replica',
  async begin({ installation, random }, isBusy) {
    if (isBusy(target)) return undefined
    const { pair } = installation.postgres
    await pair.primary.kill()
    await pair.promote()
    return { target, isOutage: true, forMs: random.integer(1_000, 5_000), heal: () => pair.rebuild() }
  },
}

const restart: Fault = {
  name: 'Postgres: kill -9 and start',
  async begin({ installation, random }, isBusy) {
    if (isBusy(target)) return undefined
    const { primary } = installation.postgres.pair
    await primary.kill()
    return { target, isOutage: true, forMs: random.integer(500, 6_000), heal: () => primary.start() }
  },
}

const suspended: Fault = {
  name: 'Postgres: SIGSTOP',
  async begin({ installation, random }, isBusy) {
    if (isBusy(target)) return undefined
    const { primary } = installation.postgres.pair
    await primary.pause()
    return { target, isOutage: true, forMs: random.integer(2_000, 12_000), heal: () => primary.resume() }
  },
}

export const databaseFaults: Fault[] = [failover, restart, suspended]
