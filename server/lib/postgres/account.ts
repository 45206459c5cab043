import { stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { run } from '../run.ts'
import { ensureSystemUser, nobody, readUsers, type SystemUser } from '../system-user.ts'
import { fileProblem, missingUser, PostgresProblem } from './problem.ts'

/** Whom initdb and the server run as. */
export type PostgresAccount = SystemUser & {
  /** To be switched to; undefined when we are that user. */
  user: SystemUser | undefined
  /** Who may open the database: users of the system, by name. */
  clients: string[]
}

/** The user that root's servers run as. */
export const POSTGRES_USER = 'kinora-postgres'

/** Postgres refuses to run as root; its files belong to whom it runs as. */
export async function chooseAccount(folder: string, cluster: string): Promise<PostgresAccount> {
  const uid = process.geteuid!()
  if (uid !== 0) {
    const owner = await ownerOf(cluster, folder)
    if (owner && owner.uid !== uid) throw await belongsToAnother(folder, owner.uid)
    // Root may open it too: it runs commands on the data of other users.
    return { uid, gid: process.getegid!(), user: undefined, clients: [await nameOf(uid), await nameOf(0)] }
  }
  const root = await nameOf(0)
  // A root that opens an ordinary user's folder leaves it to that user.
  const owner = await ownerOf(folder, folder)
  if (owner && owner.uid !== 0) return { ...owner, user: owner, clients: [root, await nameOf(owner.uid)] }
  const user = (await ensureSystemUser(POSTGRES_USER)) ?? nobody
  return { ...user, user, clients: [root] }
}

/** Processes of other programs may run as the same user, and could then change the files of the database. */
export const isShared = ({ user }: PostgresAccount) => user?.uid === nobody.uid

async function ownerOf(path: string, folder: string): Promise<SystemUser | undefined> {
  try {
    const { uid, gid } = await stat(path)
    return { uid, gid }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT') return undefined
    if (code !== 'EACCES') throw fileProblem(error, folder)
    const above = await stat(folder).catch(() => undefined)
    if (above && above.uid !== process.geteuid!()) throw await belongsToAnother(folder, above.uid)
    throw fileProblem(error, folder)
  }
}

async function belongsToAnother(folder: string, uid: number): Promise<PostgresProblem> {
  const above = await stat(folder)
  const whom = above.uid === 0 ? 'was made by root' : `belongs to another user (uid ${uid})`
  return new PostgresProblem(
    `The database in ${folder} ${whom} and this is uid ${process.geteuid!()}: ` +
      'start Kinora as that user, or give the folder and all in it to this one with chown -R.',
  )
}

/** Postgres knows users of the system by name. */
async function nameOf(uid: number): Promise<string> {
  const known = (await readUsers()).find((user) => user.uid === uid)
  if (known) return known.name
  // Of a directory service, which only the C library knows how to ask.
  try {
    if (uid === process.geteuid!()) return userInfo().username
    return (await run('id', ['-nu', String(uid)])).stdout.trim()
  } catch {
    throw missingUser(uid)
  }
}
