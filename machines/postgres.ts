import { DATABASE, USER } from '../server/lib/postgres/cluster.ts'
import { PostgresPair } from '../test/support/postgres-pair.ts'
import type { Machine } from './machine.ts'
import { enter } from './namespaces.ts'

const port = 5432

export type PostgresMachines = {
  pair: PostgresPair
  machines: [Machine, Machine]
  /** For the services. */
  url: string
  /** The address of the current primary, for queries of this process. */
  primaryUrl(): string
}

/** A primary and a synchronous replica, each on a machine of its own. */
export async function openPostgres(folder: string, machines: [Machine, Machine]): Promise<PostgresMachines> {
  const places = machines.map((machine) => {
    const [command, args] = enter(machine, [])
    return { host: machine.address, port, prefix: [command, ...args] }
  })
  const pair = new PostgresPair({ folder, places: [places[0]!, places[1]!], isSynchronous: true })
  await pair.start()
  return {
    pair,
    machines,
    url: pair.url,
    primaryUrl: () => `postgres://${USER}@${pair.primary.place.host}:${port}/${DATABASE}`,
  }
}
