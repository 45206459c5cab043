import { invalidAttribute } from '../lib/errors.ts'
import { isId } from '../lib/ids.ts'

/** Runs a statement that stores a `playerId`. The database's rejection of an unknown theme becomes an API error. */
export async function withPlayer<T>(playerId: string | null | undefined, work: () => Promise<T>): Promise<T> {
  const unknown = () => invalidAttribute('playerId', 'There is no player theme with this id.')
  if (playerId != null && !isId('pl', playerId)) throw unknown()
  try {
    return await work()
  } catch (error) {
    throw isUnknownPlayer(error) ? unknown() : error
  }
}

/** The foreign keys to the themes of the environment. */
const constraints = ['videos_player', 'live_streams_player']

const isUnknownPlayer = (error: unknown) =>
  error instanceof Error && 'constraint' in error && constraints.includes(String(error.constraint))
