import { isTooOld, type Loaded, type Selection } from '../../../api/analytics.ts'
import type { Environment } from '../../../api/client.ts'
import {
  loadAllValues,
  type MetadataValue,
  type ValueOrder,
  valueOrders,
} from '../../../api/viewing-sessions.ts'
import type { Sheet } from '../csv.ts'
import { changeCells, readPrevious } from '../overview/change.ts'

/** All values of a key, for a file. The columns have the names of the API. */
export async function loadMetadata(
  environment: Environment,
  selections: Record<'current' | 'previous', Selection>,
  of: { key: string; sortBy: ValueOrder },
): Promise<Sheet> {
  const { key, sortBy } = of
  const { rows, total } = await loadAllValues(environment, selections.current, of)
  const before = await loadAllValues(environment, selections.previous, of).catch(
    (error): Loaded<MetadataValue> | undefined => {
      if (isTooOld(error)) return undefined
      throw error
    },
  )
  const previous = before && readPrevious(before.rows, before.total, (row) => [row.value, row[sortBy] ?? 0])
  return {
    header: [
      ...[key, ...valueOrders, 'averageWatchTime', 'lastSeenAt'],
      ...(previous ? [`${sortBy}Before`, `${sortBy}Change`] : []),
    ],
    rows: rows.map((row) => [
      row.value,
      ...valueOrders.map((order) => row[order]),
      row.averageWatchTime,
      row.lastSeenAt,
      ...(previous ? changeCells(previous, row.value, row[sortBy]) : []),
    ]),
    total,
  }
}
