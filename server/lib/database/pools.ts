import type { ClientBase, Pool } from 'pg'
import { openPool } from '../db.ts'
import { prepareForReads } from '../limited-reads.ts'
import { type Connections, maxLocks, shareConnections } from './connections.ts'
import { DatabaseServers, type Place } from './servers.ts'

export type Pools = {
  servers: DatabaseServers
  /** The same without a pooler, for what belongs to a session: notifications, locks, snapshots. */
  direct: DatabaseServers
  connections: Connections
  all: Pool
  keyed: Pool
  lists: Pool
  locks: Pool
  list: Pool[]
  close(): Promise<void>
}

type Options = {
  place: Place
  /** If `place` is a pooler. */
  directPlace: Place | undefined
  maxConnections: number | undefined
}

/** Without a pooler, connections with locks are taken from the others. */
export function openPools(
  { place, directPlace, maxConnections }: Options,
  onError: (error: Error) => void,
): Pools {
  const isPooled = directPlace !== undefined
  const servers = new DatabaseServers(place, { isPooled, maxConnections })
  const direct = isPooled ? new DatabaseServers(directPlace, { maxConnections }) : servers
  const connections = shareConnections(maxConnections)
  const all = openPool(servers, onError, { max: connections.all })
  const keyed = openPool(servers, onError, { name: 'kinora api', max: connections.keyed })
  const lists = openPool(servers, onError, {
    name: 'kinora lists',
    max: connections.lists,
    ...(!isPooled && { onConnect: (client: ClientBase) => prepareForReads(client) }),
  })
  const locks = isPooled ? openPool(direct, onError, { name: 'kinora locks', max: maxLocks }) : all
  const list = [...new Set([all, keyed, lists, locks])]
  return {
    ...{ servers, direct, connections, all, keyed, lists, locks, list },
    async close() {
      for (const pool of list) await pool.end()
    },
  }
}
