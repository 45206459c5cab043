import { access, constants, readFile, stat } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { fileProblem, OWN_SERVER, PostgresProblem } from './problem.ts'

/** Whom initdb and the server run as, and the argv that goes in front of them for that. */
export type PostgresAccount = { uid: number; gid: number; prefix: readonly string[] }

const NOBODY = 65534
const CAP_DAC_READ_SEARCH = 2n
const CAP_SETPCAP = 8n

/** Postgres refuses to run as root; its files belong to whom it runs as. */
export async function chooseAccount(folder: string, cluster: string): Promise<PostgresAccount> {
  const uid = process.geteuid!()
  const owner = await ownerOf(cluster, folder)
  if (uid !== 0) {
    if (owner && owner.uid !== uid) throw belongsToAnother(folder, owner.uid)
    return { uid, gid: process.getegid!(), prefix: [] }
  }
  // A root that opens an ordinary user's data leaves it to that user.
  const given = [owner, await ownerOf(folder, folder)].find((one) => one && one.uid !== 0)
  const target = given ?? { uid: NOBODY, gid: NOBODY }
  return { ...target, prefix: await becoming(target.uid, target.gid) }
}

async function ownerOf(path: string, folder: string): Promise<{ uid: number; gid: number } | undefined> {
  try {
    const { uid, gid } = await stat(path)
    return { uid, gid }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT') return undefined
    if (code !== 'EACCES') throw fileProblem(error, folder)
    const above = await stat(folder).catch(() => undefined)
    if (above && above.uid !== process.geteuid!()) throw belongsToAnother(folder, above.uid)
    throw fileProblem(error, folder)
  }
}

function belongsToAnother(folder: string, uid: number): PostgresProblem {
  const whom = uid === 0 || uid === NOBODY ? 'was made by root' : `belongs to another user (uid ${uid})`
  return new PostgresProblem(
    `The database in ${folder} ${whom} and this is uid ${process.geteuid!()}: ` +
      'start Kinora as that user, or give the folder and all in it to this one with chown -R.',
  )
}

async function becoming(uid: number, gid: number): Promise<string[]> {
  if (!(await isOnPath('setpriv'))) {
    throw new PostgresProblem(
      'Postgres refuses to run as root, and the program setpriv that would run it as another user is missing: ' +
        `install util-linux, start Kinora as an ordinary user, or ${OWN_SERVER}.`,
    )
  }
  const identity = ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups']
  // The capability lets it through folders above ours that only root may enter, and the secure bit lets access()
  // count it. A container's root often lacks one of them; there the folders above have to let everybody through.
  if (!(await mayGrantReadSearch())) return identity
  return [
    ...identity,
    '--securebits=+no_setuid_fixup',
    '--inh-caps=-all,+dac_read_search',
    '--ambient-caps=-all,+dac_read_search',
  ]
}

async function mayGrantReadSearch(): Promise<boolean> {
  const status = await readFile('/proc/self/status', 'utf8')
  const held = BigInt(`0x${/^CapPrm:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`)
  return [CAP_DAC_READ_SEARCH, CAP_SETPCAP].every((bit) => (held >> bit) & 1n)
}

async function isOnPath(program: string): Promise<boolean> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const found = await access(join(folder, program), constants.X_OK).then(
      () => true,
      () => false,
    )
    if (found) return true
  }
  return false
}
