import type { Db } from '../../lib/db.ts'
import type { Tables } from '../../tables.ts'
import { findKnown } from '../object-store.ts'
import { originOf } from '../origin.ts'
import type { Run } from '../run-store.ts'

/** The id here of a player theme of the service. Null, with a note, if it was not imported. */
export async function findPlayerId(
  db: Db<Tables>,
  run: Run,
  sourceId: string | null,
  notes: string[],
): Promise<string | null> {
  if (sourceId === null) return null
  const known = (await findKnown(db, originOf(run), 'player', [sourceId])).get(sourceId)
  if (known?.exists) return known.objectId
  notes.push(`Its player theme ${sourceId.slice(0, 100)} was not imported.`)
  return null
}
