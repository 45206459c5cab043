import { ItemSkipped } from '../outcomes.ts'

/** Runs a statement that inserts an object. Throws `ItemSkipped` if another object has its id. */
export async function chooseId<T>(id: string, insert: () => Promise<T>): Promise<T> {
  try {
    return await insert()
  } catch (error) {
    if (isTaken(error)) throw new ItemSkipped(takenReason(id))
    throw error
  }
}

export const takenReason = (id: string) =>
  `${id} exists here already, in production or in the sandbox, and was not imported from there. Import without keepIds to get a copy with another id.`

const isTaken = (error: unknown) => error instanceof Error && 'code' in error && error.code === '23505'
