import { stat } from 'node:fs/promises'
import { ensureSystemUser, nobody, type SystemUser } from '../system-user.ts'
import { fileError, PostgresError } from './errors.ts'
import { nameOf } from './user-name.ts'

/** The system user that initdb and the server run as. */
export type PostgresAccount = SystemUser & {
  /** Set if this process has to switch to that user. */
  user: SystemUser | undefined
  /** Names of the system users that may connect to the database. */
  clients: string[]
}

/** The server runs as this user if Kinora runs as root. */
export const POSTGRES_USER = 'kinora-postgres'

/** Postgres refuses to run as root, and its files must belong to the user it runs as. */
export async function chooseAccount(folder: string, cluster: string): Promise<PostgresAccount> {
  const uid = process.geteuid!()
  if (uid !== 0) {
    const owner = await ownerOf(cluster, folder)
    if (owner && owner.uid !== uid) throw await belongsToAnother(folder, owner.uid)
    // Root may connect as well, so that it can run commands on the data of other users.
    return { uid, gid: process.getegid!(), user: undefined, clients: [await nameOf(uid), await nameOf(0)] }
  }
  const root = await nameOf(0)
  // If root opens the folder of an ordinary user, the folder stays with that user.
  const owner = await ownerOf(folder, folder)
  if (owner && owner.uid !== 0) return { ...owner, user: owner, clients: [root, await nameOf(owner.uid)] }
  const user = (await ensureSystemUser(POSTGRES_USER)) ?? nobody
  return { ...user, user, clients: [root] }
}

/** Whether other programs may run as the same user, and could then change the files of the database. */
export const isShared = ({ user }: PostgresAccount) => user?.uid === nobody.uid

async function ownerOf(path: string, folder: string): Promise<SystemUser | undefined> {
  try {
    const { uid, gid } = await stat(path)
    return { uid, gid }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT') return undefined
    if (code !== 'EACCES') throw fileError(error, folder)
    const above = await stat(folder).catch(() => undefined)
    if (above && above.uid !== process.geteuid!()) throw await belongsToAnother(folder, above.uid)
    throw fileError(error, folder)
  }
}

async function belongsToAnother(folder: string, uid: number): Promise<PostgresError> {
  const above = await stat(folder)
  const whom = above.uid === 0 ? 'was created by root' : `belongs to another user (uid ${uid})`
  return new PostgresError(
    `The database in ${folder} ${whom} and this is uid ${process.geteuid!()}: ` +
      'start Kinora as that user, or give the folder and its contents to this user with chown -R.',
  )
}
